// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/azure/azuretest"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// TestTheProvidersSchemaTakesIt: a conversion's result is valid by the schema of the provider's CRD, which prunes nothing, and its defaults change nothing.
func TestTheProvidersSchemaTakesIt(t *testing.T) {
	kit, schema := azuretest.Kit(), schemaOf(t, "azuremachines")
	env, r := kit.Env(), rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	for range 200 {
		p := conversion.NewPass(&env, &conversion.Core{ProviderID: azuretest.Instance}, "")
		made := kit.Platform.Spec.ToClusterAPI(p, kit.AnyProviderSpec(r))
		if len(p.Errors()) > 0 {
			t.Fatal(p.Errors().ToAggregate())
		}
		spec, err := conversion.Encode(made)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(spec, schema.accept(t, "AzureMachine", spec)); d != "" {
			t.Fatalf("the schema's defaults change it (-made +stored):\n%s", d)
		}
	}
}

// TestTheKitsClusterIsOne: the kit's AzureCluster could be created.
func TestTheKitsClusterIsOne(t *testing.T) {
	schemaOf(t, "azureclusters").accept(t, "AzureCluster", azuretest.Kit().InfraCluster)
}

type schema struct {
	validate   validation.SchemaValidator
	structural *structuralschema.Structural
}

// accept returns the spec as an API server would store it.
func (s schema) accept(t *testing.T, kind string, spec map[string]any) any {
	t.Helper()
	object := runtime.DeepCopyJSON(map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "spec": spec})
	before := runtime.DeepCopyJSON(object)
	pruning.Prune(object, s.structural, true)
	if d := cmp.Diff(before, object); d != "" {
		t.Fatalf("the schema does not know (-lost):\n%s", d)
	}
	defaulting.Default(object, s.structural)
	if errs := validation.ValidateCustomResource(nil, object, s.validate); len(errs) > 0 {
		raw, _ := json.Marshal(object)
		t.Fatalf("the schema refuses it: %v\n%s", errs.ToAggregate(), raw)
	}
	return object["spec"]
}

func schemaOf(t *testing.T, plural string) schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api-provider-azure").Output()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config/crd/bases/infrastructure.cluster.x-k8s.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	if len(crd.Spec.Versions) != 1 {
		t.Fatalf("%s has %d versions: choose one", plural, len(crd.Spec.Versions))
	}
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[0].Schema,
		&internal, nil); err != nil {
		t.Fatal(err)
	}
	validate, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return schema{validate, structural}
}
