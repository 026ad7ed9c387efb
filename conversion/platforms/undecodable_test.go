// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
)

// wrong calls use with a merge patch for each field of a type, with a value of another type.
func wrong(t reflect.Type, use func(patch any)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		use("16GB")
		use("")
		use([]any{})
	case t.Kind() == reflect.Struct:
		use("x")
		for i := range t.NumField() {
			f := t.Field(i)
			switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
			case name == "-" || name == "" && !f.Anonymous:
			case name == "":
				wrong(f.Type, use)
			default:
				wrong(f.Type, func(patch any) { use(map[string]any{name: patch}) })
			}
		}
	case t.Kind() == reflect.Slice:
		use("x")
		wrong(t.Elem(), func(patch any) { use([]any{patch}) })
	case t.Kind() == reflect.String:
		use(7)
	default:
		use("x")
	}
}

// An error without a path concerns the whole platform. So a value of the wrong type is an error with the field's path, in both directions.
func TestWhatATypeDoesNotTakeIsNamedByItsPath(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		env := kit.Env()
		for _, kind := range []string{"Machine", "MachineSet"} {
			provider, infra := []string{"spec", "providerSpec", "value"}, []string{"spec"}
			if kind == "MachineSet" {
				provider, infra = append([]string{"spec", "template"}, provider...), []string{"spec", "template", "spec"}
			}
			twin, _ := core.ToClusterAPI(kind, machineAPIObject(kind, kit), env)
			base, _, _ := unstructured.NestedMap(twin.Infra.Object, infra...)
			n := 0
			try := func(of any, base map[string]any, root string, errors func(map[string]any) map[string]string) {
				wrong(reflect.TypeOf(of), func(patch any) {
					fields, isMap := patch.(map[string]any)
					if !isMap {
						return
					}
					spec := map[string]any{}
					if err := json.Unmarshal(conversiontest.Patched(t, rawOf(t, base), string(rawOf(t, fields))), &spec); err != nil {
						t.Fatal(err)
					}
					n++
					for field, detail := range errors(spec) {
						if !strings.HasPrefix(field, root) && !strings.HasPrefix(field, "spec.") && !strings.HasPrefix(field, kit.Platform.InfraCluster.Kind) {
							t.Errorf("%s %s with %s: %q: %s", kit.Platform.Name, kind, rawOf(t, patch), field, detail)
						}
					}
				})
			}
			try(kit.Platform.Spec.NewProviderSpec(), kit.ProviderSpec, strings.Join(provider, "."), func(spec map[string]any) map[string]string {
				o := machineAPIObject(kind, kit)
				if err := unstructured.SetNestedMap(o.Object, spec, provider...); err != nil {
					t.Fatal(err)
				}
				return byField(core.ToClusterAPI(kind, o, env))
			})
			try(kit.Platform.Spec.NewInfraSpec(), base, twin.Infra.GetKind()+"."+strings.Join(infra, "."), func(spec map[string]any) map[string]string {
				other := twin.Infra.DeepCopy()
				if err := unstructured.SetNestedMap(other.Object, spec, infra...); err != nil {
					t.Fatal(err)
				}
				return byField(core.ToMachineAPI(kind, core.Twin{Core: twin.Core, Infra: other}, env))
			})
			if n < 50 {
				t.Errorf("%s: %d fields: that is no test", kit.Platform.Name, n)
			}
		}
	}
}

func byField[T any](_ T, errs field.ErrorList) map[string]string {
	out := map[string]string{}
	for _, e := range errs {
		out[e.Field] = e.Detail
	}
	return out
}
