// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/openstack"
	"github.com/poundlock/poundlock/conversion/openstack/openstacktest"
	"github.com/poundlock/poundlock/test/build"
)

// TestTheProvidersCRDsTakeIt: a conversion's result is valid by the schema and the CEL rules of the provider's CRD, which prunes nothing, and converts to the
// same with that CRD's defaults.
func TestTheProvidersCRDsTakeIt(t *testing.T) {
	machines, r := crdOf(t, openstack.Platform().InfraMachine), rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	kit := openstacktest.Kit()
	env, core := kit.Env(), &conversion.Core{ProviderID: kit.ProviderID("any")}
	sample := kit.Platform.Spec.NewProviderSpec()
	if err := json.Unmarshal([]byte(jsonOf(t, kit.ProviderSpec)), sample); err != nil {
		t.Fatal(err)
	}
	specs := []any{sample}
	for range 60 {
		specs = append(specs, kit.AnyProviderSpec(r))
	}
	for _, spec := range specs {
		went := converted(t, &env, core, []byte(jsonOf(t, spec)), conversiontest.ToClusterAPI)
		defaulted := []byte(jsonOf(t, machines.create(t, went)))
		if d := cmp.Diff(said(t, converted(t, &env, core, went, conversiontest.ToMachineAPI)),
			said(t, converted(t, &env, core, defaulted, conversiontest.ToMachineAPI))); d != "" {
			t.Fatalf("the defaults make it another (-without +with):\n%s\n%s", d, went)
		}
	}
}

// TestTheKitIsACluster: an API server would store its OpenStackCluster and its generated objects.
func TestTheKitIsACluster(t *testing.T) {
	kit, r := openstacktest.Kit(), rand.New(rand.NewPCG(conversiontest.Seed(t), 0))
	crdOf(t, kit.Platform.InfraCluster).create(t, []byte(jsonOf(t, kit.InfraCluster)))
	env := kit.Env()
	env.Example = kit.ProviderSpec
	made, _ := kit.Platform.MakeInfraCluster(&env)
	crdOf(t, kit.Platform.InfraCluster).create(t, []byte(jsonOf(t, made)))
	machines := crdOf(t, kit.Platform.InfraMachine)
	for range 40 {
		machines.create(t, []byte(jsonOf(t, kit.AnyInfraSpec(r))))
	}
	if id := kit.ProviderID("a"); id != kit.ProviderID("a") || id == kit.ProviderID("b") {
		t.Errorf("%s is no name for an instance", id)
	}
}

// TestACRDRefuses: otherwise the tests above would prove nothing.
func TestACRDRefuses(t *testing.T) {
	machines := crdOf(t, openstack.Platform().InfraMachine)
	for sentence, patch := range map[string]string{
		"nothing":            `{}`,
		"no flavor":          `{"flavor": null}`,
		"an id that is none": `{"ports": [{"network": {"id": "x"}}]}`,
		"a tag given twice":  `{"tags": ["a", "a"]}`,
		"no name of a zone":  `{"rootVolume": {"sizeGiB": 1, "availabilityZone": {"from": "Name"}}}`,
	} {
		_, errs := machines.judge(t, conversiontest.Patched(t, plainInfra, patch))
		if refused := len(errs) > 0; refused == (sentence == "nothing") {
			t.Errorf("%s: %v", sentence, errs.ToAggregate())
		}
	}
}

// crd is a CRD as an API server uses it.
type crd struct {
	resource   conversion.Resource
	schema     validation.SchemaValidator
	structural *structuralschema.Structural
	rules      *cel.Validator
}

func crdOf(t *testing.T, resource conversion.Resource) crd {
	t.Helper()
	dir, err := build.ModuleDir(t.Context(), "sigs.k8s.io/cluster-api-provider-openstack")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "config", "crd", "bases", resource.Group+"_"+resource.Plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var published apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &published); err != nil {
		t.Fatal(err)
	}
	var schema apiextensions.CustomResourceValidation
	for _, v := range published.Spec.Versions {
		if v.Name == resource.Version {
			if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, &schema, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	structural, err := structuralschema.NewStructural(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	return crd{resource: resource, schema: validator, structural: structural, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

// create returns the spec with the CRD's defaults.
func (c crd) create(t *testing.T, spec []byte) any {
	t.Helper()
	object, errs := c.judge(t, spec)
	if len(errs) > 0 {
		t.Fatalf("%s refuses %s: %v", c.resource.Kind, spec, errs.ToAggregate())
	}
	return object["spec"]
}

func (c crd) judge(t *testing.T, spec []byte) (map[string]any, field.ErrorList) {
	t.Helper()
	var content map[string]any
	if err := utiljson.Unmarshal(spec, &content); err != nil { // numbers as an API server reads them
		t.Fatal(err)
	}
	object := map[string]any{"apiVersion": c.resource.GroupVersion().String(), "kind": c.resource.Kind, "spec": content}
	before := runtime.DeepCopyJSON(object)
	pruning.Prune(object, c.structural, true)
	if d := cmp.Diff(before, object); d != "" {
		t.Fatalf("%s does not know (-lost):\n%s", c.resource.Kind, d)
	}
	defaulting.Default(object, c.structural)
	errs := validation.ValidateCustomResource(nil, object, c.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, object)...)
	broken, _ := c.rules.Validate(t.Context(), nil, c.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return object, append(errs, broken...)
}
