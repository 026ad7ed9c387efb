// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const small = `{apiVersion: machine.openshift.io/v1, kind: ControlPlaneMachineSet, metadata: {name: cluster}, spec: {replicas: 5}}`

func TestAFileHasOneSet(t *testing.T) {
	for sentence, c := range map[string]struct{ text, want string }{
		"one":                         {small, ""},
		"one between empty documents": {"---\n---\n" + small + "\n---\n", ""},
		"a list with one":             {"{apiVersion: v1, kind: List, items: [" + small + "]}", ""},
		"nothing":                     {"", "contains no object"},
		"an empty list":               {"{apiVersion: v1, kind: List, items: []}", "contains no object"},
		"two sets":                    {small + "\n---\n" + small, "contains 2 ControlPlaneMachineSets: give only one"},
		"one among others":            {"{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n---\n" + small + "\n---\n{apiVersion: v1, kind: List, items: [{a: b}]}", ""},
		"others alone":                {"{apiVersion: v1, kind: ConfigMap}\n---\n{apiVersion: v1, kind: Secret}", "contains 2 objects, and none is a ControlPlaneMachineSet of machine.openshift.io/v1"},
		"broken YAML":                 {"kind: [", "cannot be read as YAML or JSON"},
		"a key twice":                 {"kind: a\nkind: b\n", "cannot be read as YAML or JSON"},
		"a word":                      {"hello", "the document is not an object"},
		"a list of words":             {"{kind: List, items: [a]}", "an item of the list is not an object"},
		"another kind":                {strings.Replace(small, "ControlPlaneMachineSet", "MachineSet", 1), "contains a MachineSet of machine.openshift.io/v1: give"},
		"another version":             {strings.Replace(small, "io/v1", "io/v1beta1", 1), "contains a ControlPlaneMachineSet of machine.openshift.io/v1beta1: give"},
		"no kind":                     {"a: b", "contains an object without apiVersion and kind"},
		"no spec":                     {strings.Replace(small, "spec", "sepc", 1), "spec is missing, or is not an object"},
		"no name":                     {strings.Replace(small, "name:", "nmae:", 1), "metadata.name is missing"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := Parse("set.yaml", strings.NewReader(c.text))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "set.yaml")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestWhatAFileLeavesOutStays(t *testing.T) {
	read := func(text string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		return u
	}
	stored := read(`{apiVersion: machine.openshift.io/v1, kind: ControlPlaneMachineSet, metadata: {name: cluster, uid: u, resourceVersion: "7", labels: {a: b}},
spec: {state: Active, replicas: 3, strategy: {type: OnDelete}, template: {x: {a: 1, b: 2}}}, status: {replicas: 3}}`)
	before := stored.DeepCopy()
	got := Over(stored, read(`{kind: x, metadata: {labels: {c: d}}, spec: {template: {x: {a: 3}}}, status: {replicas: 9}}`))
	want := read(`{apiVersion: machine.openshift.io/v1, kind: ControlPlaneMachineSet, metadata: {name: cluster, uid: u, resourceVersion: "7", labels: {a: b, c: d}},
spec: {state: Active, replicas: 3, strategy: {type: OnDelete}, template: {x: {a: 3}}}, status: {replicas: 3}}`)
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("over a stored one: %s", diff)
	}
	if diff := cmp.Diff(before.Object, stored.Object); diff != "" {
		t.Errorf("the stored one was changed: %s", diff)
	}
	if got := Over(nil, read(small)).Object["spec"]; !cmp.Equal(got,
		map[string]any{"state": "Inactive", "replicas": 5.0, "strategy": map[string]any{"type": "RollingUpdate"}}) {
		t.Errorf("where none is stored: %v", got)
	}
}

func TestASetThatIsNone(t *testing.T) {
	set, err := Parse("set.yaml", strings.NewReader(strings.Replace(small, "5", "five", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = Typed("set.yaml", set); err == nil || !strings.Contains(err.Error(), "spec.replicas cannot be a string") {
		t.Error(err)
	}
}

func TestMayRecreate(t *testing.T) {
	const disabled = ", status: {conditions: [{type: Degraded, reason: RecreateDisabled}]}"
	for text, want := range map[string]bool{
		"": false,
		"{spec: {strategy: {type: RollingUpdate}}}":            false,
		"{spec: {strategy: {type: Recreate}}}":                 true,
		"{spec: {strategy: {type: Recreate}}" + disabled + "}": false,
	} {
		var stored *unstructured.Unstructured
		if text != "" {
			stored = &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &stored.Object); err != nil {
				t.Fatal(err)
			}
		}
		if got := MayRecreate(stored); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
