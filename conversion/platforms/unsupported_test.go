// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/test/build"
)

// TestAPlatformThatCannotBeMigratedIsReported: each platform that an Infrastructure can name is in List, or has a reason.
func TestAPlatformThatCannotBeMigratedIsReported(t *testing.T) {
	for _, name := range append(platformTypes(t), "Moon") {
		text := platforms.Unsupported(name)
		if !strings.HasPrefix(text, "platform "+name+" cannot be migrated yet: ") {
			t.Errorf("of %s it is said: %s", name, text)
		}
		_, listed := platforms.For(name)
		if unknown := strings.Contains(text, "this version of Poundlock has no conversion"); !listed && unknown != (name == "Moon") {
			t.Errorf("%s is not listed, and this is all that is said of it: %s", name, text)
		}
		// A warning has 256 characters, including its rule's id.
		if len(text) > 220 {
			t.Errorf("of %s more is said than a warning can hold: %d characters", name, len(text))
		}
	}
}

// platformTypes are the API server's names of platforms.
func platformTypes(t *testing.T) []string {
	t.Helper()
	dir, err := build.ModuleDir(t.Context(), "github.com/openshift/api")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "config", "v1", "zz_generated.crd-manifests",
		"0000_10_config-operator_01_infrastructures-SelfManagedHA-CustomNoUpgrade.crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	at := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, p := range []string{"status", "platformStatus", "type"} {
		at = at.Properties[p]
	}
	var out []string
	for _, word := range at.Enum {
		var name string
		if err := json.Unmarshal(word.Raw, &name); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			out = append(out, name)
		}
	}
	if len(out) < 16 {
		t.Fatalf("the CRD names %v: has the field moved?", out)
	}
	return out
}
