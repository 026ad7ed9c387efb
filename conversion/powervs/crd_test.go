// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/powervs"
	"github.com/poundlock/poundlock/test/build"
)

// schema reads a part of the schema of the provider's CRD of these resources.
func schema(t *testing.T, resource conversion.Resource, path ...string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	dir, err := build.ModuleDir(t.Context(), "sigs.k8s.io/cluster-api-provider-ibmcloud")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "config", "crd", "bases", resource.Group+"_"+resource.Plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == resource.Version })
	if i < 0 || !crd.Spec.Versions[i].Storage || crd.Spec.Names.Kind != resource.Kind {
		t.Fatalf("%s stores no %s of version %s", crd.Name, resource.Kind, resource.Version)
	}
	at := *crd.Spec.Versions[i].Schema.OpenAPIV3Schema
	for _, p := range path {
		at = at.Properties[p]
	}
	return at
}

// TestTheTypesAreTheProviders: the types of this package have exactly the leaves of the CRD, each of the same type.
func TestTheTypesAreTheProviders(t *testing.T) {
	platform := powervs.Platform()
	for name, crd := range map[string]apiextensionsv1.JSONSchemaProps{
		"IBMPowerVSMachine":         schema(t, platform.InfraMachine, "spec"),
		"IBMPowerVSMachineTemplate": schema(t, platform.InfraMachineTemplate, "spec", "template", "spec"),
	} {
		for _, problem := range conversiontest.Differences(crd, reflect.TypeFor[powervs.MachineSpec]()) {
			t.Errorf("%s: %s", name, problem)
		}
		if d := cmp.Diff([]string{"network", "serviceInstanceID"}, crd.Required); d != "" {
			t.Errorf("%s: what is required, and must be written even if it says nothing (-types +CRD):\n%s", name, d)
		}
	}
}

// TestTheWordsAreTheProviders: the conversion and the CRD accept the same system types and processor types.
func TestTheWordsAreTheProviders(t *testing.T) {
	spec := schema(t, powervs.Platform().InfraMachine, "spec")
	for path, bad := range map[string]string{"systemType": "e880", "processorType": "shared"} {
		var words []string
		for _, word := range spec.Properties[path].Enum {
			words = append(words, strings.Trim(string(word.Raw), `"`))
		}
		for _, word := range append(words, bad) {
			errs := ofInfra(t, fmt.Sprintf(`{%q: %q}`, path, word))
			if got, want := len(errs) == 0, word != bad; got != want {
				t.Errorf("%s %q: %v", path, word, errs.ToAggregate())
			}
		}
	}
}

// TestTheStatusIsTheProviders: each field that the conversion writes into a status is one of the CRD's.
func TestTheStatusIsTheProviders(t *testing.T) {
	status := schema(t, powervs.Platform().InfraMachine, "status")
	for field := range fullStatus() {
		if _, ok := status.Properties[field]; !ok {
			t.Errorf("the CRD's status has no %s", field)
		}
	}
}
