// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/nutanix"
	"github.com/poundlock/poundlock/conversion/nutanix/nutanixtest"
	"github.com/poundlock/poundlock/test/build"
)

// schema reads a part of the schema of the provider's CRD of these resources.
func schema(t *testing.T, resource conversion.Resource, path ...string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	dir, err := build.ModuleDir(t.Context(), "github.com/nutanix-cloud-native/cluster-api-provider-nutanix")
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
	platform := nutanix.Platform()
	for name, crd := range map[string]apiextensionsv1.JSONSchemaProps{
		"NutanixMachine":         schema(t, platform.InfraMachine, "spec"),
		"NutanixMachineTemplate": schema(t, platform.InfraMachineTemplate, "spec", "template", "spec"),
	} {
		for _, problem := range conversiontest.Differences(crd, reflect.TypeFor[nutanix.MachineSpec]()) {
			t.Errorf("%s: %s", name, problem)
		}
		if d := cmp.Diff([]string{"memorySize", "systemDiskSize", "vcpuSockets", "vcpusPerSocket"}, crd.Required); d != "" {
			t.Errorf("%s: what is required, and must be written even if it says nothing (-types +CRD):\n%s", name, d)
		}
	}
}

// TestTheStatusIsTheProviders: each field that the conversion writes into a status is one of the CRD's.
func TestTheStatusIsTheProviders(t *testing.T) {
	status := schema(t, nutanix.Platform().InfraMachine, "status")
	for field := range fullStatus() {
		if _, ok := status.Properties[field]; !ok {
			t.Errorf("the CRD's status has no %s", field)
		}
	}
}

// TestTheMadeClusterIsTheProviders: each field of a NutanixCluster that is made from the Infrastructure is one of the CRD's, and no required one is missing.
func TestTheMadeClusterIsTheProviders(t *testing.T) {
	env := nutanixtest.Kit().Env()
	if err := json.Unmarshal([]byte(`{"spec": {"platformSpec": {"nutanix": {"prismCentral": {"address": "pc.example.com", "port": 9440}, "failureDomains": [
		{"name": "fd1", "cluster": {"type": "UUID", "uuid": "0005a0f3-8f43-a0f2-02b7-3cecef193712"}, "subnets": [{"type": "Name", "name": "one"}]}]}}},
		"status": {"platformStatus": {"nutanix": {"apiServerInternalIP": "10.0.0.5"}}}}`), &env.Infrastructure); err != nil {
		t.Fatal(err)
	}
	spec, _ := env.Platform.MakeInfraCluster(&env)
	fits(t, "spec", schema(t, env.Platform.InfraCluster, "spec"), spec)
}

func fits(t *testing.T, at string, s apiextensionsv1.JSONSchemaProps, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if p, ok := s.Properties[name]; ok {
				fits(t, at+"."+name, p, value)
			} else {
				t.Errorf("the CRD has no %s.%s", at, name)
			}
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				t.Errorf("%s.%s is required", at, name)
			}
		}
	case []any:
		for _, item := range v {
			fits(t, at+"[]", *s.Items.Schema, item)
		}
	}
}
