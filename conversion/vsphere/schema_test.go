// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

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
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/vsphere/vspheretest"
)

// TestTheProvidersSchemaTakesIt: a conversion's result is valid by the schema of the provider's CRD, which prunes nothing, and is the same with that schema's
// defaults. The CRD has no rules in CEL.
func TestTheProvidersSchemaTakesIt(t *testing.T) {
	validate, structural := schemaOf(t, "vspheremachines")
	kit, r := vspheretest.Kit(), rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	env := kit.Env()
	sample, _ := json.Marshal(kit.ProviderSpec)
	spec := kit.Platform.Spec.NewProviderSpec()
	if err := json.Unmarshal(sample, spec); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		core := &conversion.Core{ProviderID: vspheretest.ProviderID("any")}
		p := conversion.NewPass(&env, core, "")
		infra, err := conversion.Encode(kit.Platform.Spec.ToClusterAPI(p, spec))
		if err != nil || len(p.Errors()) > 0 {
			t.Fatal(err, p.Errors())
		}
		object := map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "VSphereMachine", "spec": infra}
		before := runtime.DeepCopyJSON(object)
		pruning.Prune(object, structural, true)
		if d := cmp.Diff(before, object); d != "" {
			t.Fatalf("the schema does not know (-lost):\n%s", d)
		}
		defaulting.Default(object, structural)
		errs := validation.ValidateCustomResource(nil, object, validate)
		if errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, object)...); len(errs) > 0 {
			t.Fatalf("the schema refuses it: %v", errs.ToAggregate())
		}
		comesBackAlike(t, &env, core, infra, object["spec"])
		spec = kit.AnyProviderSpec(r)
	}
}

func comesBackAlike(t *testing.T, env *conversion.Env, core *conversion.Core, infra, defaulted any) {
	t.Helper()
	back := func(spec any) any {
		raw, _ := json.Marshal(spec)
		p := conversion.NewPass(env, core, "")
		out := conversiontest.ToMachineAPI(p, raw)
		if len(p.Errors()) > 0 {
			t.Fatalf("cannot come back: %v", p.Errors().ToAggregate())
		}
		return out
	}
	if d := cmp.Diff(back(infra), back(defaulted)); d != "" {
		t.Fatalf("the defaults make it another (-without +with):\n%s", d)
	}
}

func schemaOf(t *testing.T, plural string) (validation.SchemaValidator, *structuralschema.Structural) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api-provider-vsphere").Output()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config/default/crd/bases/infrastructure.cluster.x-k8s.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == "v1beta1" {
			return validator(t, v.Schema)
		}
	}
	t.Fatal("the CRD has no v1beta1")
	return nil, nil
}

func validator(t *testing.T, schema *apiextensionsv1.CustomResourceValidation) (validation.SchemaValidator, *structuralschema.Structural) {
	t.Helper()
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(schema, &internal, nil); err != nil {
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
	return validate, structural
}
