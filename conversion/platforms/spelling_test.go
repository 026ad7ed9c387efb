// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platforms_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/test/stories"
)

// spelling is one way to write a providerSpec.
type spelling struct {
	contains string
	value    map[string]any
}

// spellings are how people, templates and older tools write a member of a providerSpec: each member in another case, and each absent one as null and as its
// type's zero value.
func spellings(written map[string]any, kind reflect.Type) []spelling {
	var out []spelling
	with := func(text string, change func(map[string]any)) {
		value := runtime.DeepCopyJSON(written)
		change(value)
		out = append(out, spelling{text, value})
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if other := strings.ToUpper(name[:1]) + name[1:]; other != name && name != "apiVersion" && name != "kind" {
			with(other, func(m map[string]any) { m[other] = m[name]; delete(m, name) })
		}
	}
	for _, f := range reflect.VisibleFields(kind) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || f.Anonymous {
			continue
		}
		below, _ := written[name].(map[string]any)
		if _, given := written[name]; !given {
			with(name+": null", func(m map[string]any) { m[name] = nil })
			if zero, ok := zeroOf(f.Type); ok {
				with(fmt.Sprintf("%s: %#v", name, zero), func(m map[string]any) { m[name] = zero })
			}
		} else if member := pointed(f.Type); below != nil && member.Kind() == reflect.Struct {
			for _, s := range spellings(below, member) {
				with(name+"."+s.contains, func(m map[string]any) { m[name] = s.value })
			}
		}
	}
	return out
}

func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// zeroOf is what an encoder without omitempty writes.
func zeroOf(t reflect.Type) (any, bool) {
	switch pointed(t).Kind() {
	case reflect.String:
		return "", true
	case reflect.Bool:
		return false, true
	case reflect.Int32, reflect.Int64, reflect.Int:
		return int64(0), true
	case reflect.Slice:
		return []any{}, true
	case reflect.Map, reflect.Struct:
		return map[string]any{}, true
	}
	return nil, false
}

// A providerSpec that can move keeps its spelling after the round trip.
func TestEverySpellingComesBack(t *testing.T) {
	stories.Long(t)
	eachCluster(t, func(t *testing.T, folder string, c corpus, _ variants) {
		manifests, _ := filepath.Glob(filepath.Join(folder, "worker*.yaml"))
		for _, manifest := range manifests {
			env, o := c.Env(t), read(t, manifest)
			path := []string{"spec", "providerSpec", "value"}
			if o.GetKind() == "MachineSet" {
				path = append([]string{"spec", "template"}, path...)
			}
			written, _, _ := unstructured.NestedMap(o.Object, path...)
			moved := 0
			for _, s := range spellings(written, pointed(reflect.TypeOf(env.Platform.Spec.NewProviderSpec()))) {
				object := o.DeepCopy()
				if err := unstructured.SetNestedMap(object.Object, s.value, path...); err != nil {
					t.Fatal(err)
				}
				twin, errs := core.ToClusterAPI(object.GetKind(), object, env)
				if len(errs) > 0 {
					if strings.HasSuffix(s.contains, `: ""`) && s.contains != `workspace.resourcePool: ""` { // besides itself
						t.Errorf("%s: with %s, which says nothing, it cannot go: %v", filepath.Base(manifest), s.contains, errs.ToAggregate())
					}
					continue // it does not move
				}
				moved++
				back, errs := core.ToMachineAPI(object.GetKind(), twin, env)
				if len(errs) > 0 {
					t.Errorf("%s: with %s it cannot come back: %v", filepath.Base(manifest), s.contains, errs.ToAggregate())
					continue
				}
				core.KeepSpelling(object.GetKind(), object, back, env)
				unstructured.RemoveNestedField(object.Object, "spec", "authoritativeAPI")
				if diff := gocmp.Diff(object.Object["spec"], back.Object["spec"]); diff != "" {
					t.Errorf("%s: with %s it comes back otherwise (-was +is):\n%s", filepath.Base(manifest), s.contains, diff)
				}
			}
			if moved < 20 {
				t.Errorf("%s: %d spellings move", filepath.Base(manifest), moved)
			}
		}
	})
}

// A change in Cluster API changes nothing else of a providerSpec: no default is added, no empty member removed, and no name spelt in another way.
func TestAChangeInClusterAPIChangesOneField(t *testing.T) {
	stories.Long(t)
	edited := map[string]struct {
		field string // of the infrastructure machine
		value any
		is    string // the field of the providerSpec
	}{
		"aws": {"instanceType", "m6i.8xlarge", "instanceType"}, "azure": {"vmSize", "Standard_D16s_v5", "vmSize"}, "gcp": {"instanceType", "n2-standard-16", "machineType"},
		"openstack": {"flavor", "m1.other", "flavor"}, "vsphere": {"memoryMiB", int64(65536), "memoryMiB"}, "powervs": {"memoryGiB", int64(64), "memoryGiB"},
		"nutanix": {"memorySize", "64Gi", "memorySize"},
	}
	eachCluster(t, func(t *testing.T, folder string, c corpus, v variants) {
		edit := edited[filepath.Base(folder)]
		try := func(t *testing.T, c corpus, o *unstructured.Unstructured, respelt bool) {
			t.Helper()
			env := c.Env(t)
			machine, infra := []string{"spec", "providerSpec", "value"}, []string{"spec"}
			if o.GetKind() == "MachineSet" {
				machine, infra = append([]string{"spec", "template"}, machine...), []string{"spec", "template", "spec"}
			}
			name := edit.is
			if respelt {
				value, _, _ := unstructured.NestedFieldNoCopy(o.Object, append(slices.Clone(machine), name)...)
				unstructured.RemoveNestedField(o.Object, append(slices.Clone(machine), name)...)
				name = strings.ToUpper(name)
				if err := unstructured.SetNestedField(o.Object, value, append(slices.Clone(machine), name)...); err != nil {
					t.Fatal(err)
				}
			}
			twin, errs := core.ToClusterAPI(o.GetKind(), o, env)
			if len(errs) > 0 {
				t.Fatalf("it cannot go: %v", errs.ToAggregate())
			}
			if err := unstructured.SetNestedField(twin.Infra.Object, edit.value, append(infra, edit.field)...); err != nil {
				t.Fatal(err)
			}
			back, errs := core.ToMachineAPI(o.GetKind(), twin, env)
			if len(errs) > 0 {
				t.Skipf("the change cannot come back: %v", errs.ToAggregate())
			}
			core.KeepSpelling(o.GetKind(), o, back, env)
			unstructured.RemoveNestedField(o.Object, "spec", "authoritativeAPI")
			if err := unstructured.SetNestedField(o.Object, edit.value, append(slices.Clone(machine), name)...); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(o.Object["spec"], back.Object["spec"]); diff != "" {
				t.Errorf("something else has changed, too (-was +is):\n%s", diff)
			}
		}
		manifests, _ := filepath.Glob(filepath.Join(folder, "*.yaml"))
		for _, manifest := range manifests {
			if name := filepath.Base(manifest); name != "cluster.yaml" && name != "variants.yaml" {
				t.Run(name, func(t *testing.T) { try(t, c, read(t, manifest), false) })
				t.Run(name+", in capitals", func(t *testing.T) { try(t, c, read(t, manifest), true) })
			}
		}
		for text, variant := range v.Moves {
			t.Run(text, func(t *testing.T) {
				c, o := variant.Apply(t, c, read(t, filepath.Join(folder, variant.Of)))
				try(t, c, o, false)
			})
		}
	})
}
