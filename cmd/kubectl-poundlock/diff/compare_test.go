// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/diff"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms/platformstest"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

func object(t *testing.T, u *unstructured.Unstructured) *policies.Object {
	t.Helper()
	o, err := inventory.FromUnstructured(u.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func byNone(string) bool { return false }

// mirrored is a set with the twin that the mirror makes of it.
func mirrored(t *testing.T, kit conversiontest.Kit) (inventory.Pair, core.Twin, conversion.Env) {
	t.Helper()
	env := kit.Env()
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": map[string]any{"name": "a", "namespace": "openshift-machine-api"},
		"spec": map[string]any{"replicas": 1, "selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}, "template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{"providerSpec": map[string]any{"value": kit.ProviderSpec}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	set := &unstructured.Unstructured{}
	if err := set.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	twin, errs := core.ToClusterAPI("MachineSet", set, env)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	kind, _ := authority.KindNamed("MachineSet")
	return inventory.Pair{Kind: kind, Name: "a", MachineAPI: object(t, set), ClusterAPI: object(t, twin.Core), Infra: object(t, twin.Infra)}, twin, env
}

// A twin as the mirror makes it has no difference, on any platform and in the fields of either API.
func TestATwinInStepDiffersInNothing(t *testing.T) {
	for _, kit := range platformstest.Kits() {
		t.Run(kit.Platform.Name, func(t *testing.T) {
			pair, _, env := mirrored(t, kit)
			for _, in := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
				c, err := diff.Compare(pair, in, env, byNone)
				if err != nil || !c.Same() || len(c.Rows) == 0 {
					t.Errorf("in the words of %s: %v %+v", in, err, c)
				}
			}
		})
	}
}

func TestADifferenceIsNamed(t *testing.T) {
	pair, twin, env := mirrored(t, platformstest.Kits()[0])
	if err := unstructured.SetNestedField(twin.Core.Object, int64(5), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	pair.ClusterAPI = object(t, twin.Core)
	c, err := diff.Compare(pair, authority.MachineAPI, env, byNone)
	if err != nil {
		t.Fatal(err)
	}
	var differ []string
	for _, r := range c.Rows {
		if !r.Same {
			differ = append(differ, r.Path+" "+r.MachineAPI+" "+r.ClusterAPI)
		}
	}
	if got := strings.Join(differ, "; "); got != "spec.replicas 1 5" {
		t.Error(got)
	}
}

// A label that others keep on one side alone is no difference: the mirror is in step without it.
func TestWhatTheMirrorLeavesToOthers(t *testing.T) {
	const theirs, set, region = "argocd.argoproj.io/instance", "cluster.x-k8s.io/set-name", "machine.openshift.io/region"
	kit := platformstest.Kits()[0]
	for sentence, c := range map[string]struct {
		authoritative, side, label string
		selected, differs          bool
	}{
		"Cluster API's set marks a mirror":                {authoritative: "MachineAPI", side: "ClusterAPI", label: set},
		"and a mirror lacks the mark":                     {authoritative: "ClusterAPI", side: "ClusterAPI", label: set},
		"an older mirror has left the mark behind":        {authoritative: "MachineAPI", side: "MachineAPI", label: set},
		"somebody has changed it":                         {authoritative: "ClusterAPI", side: "both", label: set, differs: true},
		"Machine API's controller marks a mirror":         {authoritative: "ClusterAPI", side: "MachineAPI", label: region},
		"a mirror lacks what the Machine API's has":       {authoritative: "MachineAPI", side: "MachineAPI", label: region, differs: true},
		"what the Machine API's controller has put right": {authoritative: "ClusterAPI", side: "both", label: region},
		"the same of a label of nobody's":                 {authoritative: "ClusterAPI", side: "both", label: "a", differs: true},
		"somebody's own":                                  {authoritative: "MachineAPI", side: "MachineAPI", label: theirs},
		"somebody's own, by which the set selects":        {authoritative: "MachineAPI", side: "MachineAPI", label: theirs, selected: true, differs: true},
		"the same where Cluster API is authoritative":     {authoritative: "ClusterAPI", side: "both", label: theirs, selected: true, differs: true},
		"and which the mirror alone has":                  {authoritative: "MachineAPI", side: "ClusterAPI", label: theirs, selected: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			pair := machine(t, kit, c.authoritative, func(mapi, capi *unstructured.Unstructured) {
				if c.side != "ClusterAPI" {
					label(mapi, c.label, "here")
				}
				if c.side != "MachineAPI" {
					label(capi, c.label, "there")
				}
			})
			for _, in := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
				got, err := diff.Compare(pair, in, kit.Env(), func(string) bool { return c.selected })
				if err != nil || got.Same() == c.differs || len(got.Unspeakable) > 0 {
					t.Errorf("in the words of %s: %v %+v", in, err, got)
				}
			}
		})
	}
}

// TestWhatASetWritesInPlace: the mirror does not change it, so it is no difference, though Machine API cannot express it.
func TestWhatASetWritesInPlace(t *testing.T) {
	kit := platformstest.Kits()[0]
	for owner, differs := range map[string]bool{"MachineSet": false, "Cluster": true} {
		pair := machine(t, kit, "MachineAPI", func(_, capi *unstructured.Unstructured) {
			controls := true
			capi.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: owner, Name: "s", UID: "u", Controller: &controls}})
			for _, field := range []string{"minReadySeconds", "readinessGates"} {
				value := map[string]any{"minReadySeconds": int64(5), "readinessGates": []any{map[string]any{"conditionType": "Ready"}}}[field]
				if err := unstructured.SetNestedField(capi.Object, value, "spec", field); err != nil {
					t.Fatal(err)
				}
			}
			if err := unstructured.SetNestedField(capi.Object, "other-user-data", "spec", "bootstrap", "dataSecretName"); err != nil {
				t.Fatal(err)
			}
		})
		for _, in := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
			got, err := diff.Compare(pair, in, kit.Env(), byNone)
			own := slices.DeleteFunc(slices.Clone(got.Rows), func(r diff.Row) bool { return !r.Own })
			if err != nil || got.Same() == differs || !differs && len(own) != 3 {
				t.Errorf("owned by a %s, in the words of %s: %v %+v", owner, in, err, got)
			}
			for _, r := range own {
				if want := `[{"conditionType":"Ready"}]`; r.Path == "spec.readinessGates" && r.ClusterAPI != want {
					t.Errorf("a list is %s, want %s", r.ClusterAPI, want)
				}
			}
		}
	}
}

func label(o *unstructured.Unstructured, name, value string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[name] = value
	o.SetLabels(labels)
}

// machine is a Machine with the twin that the mirror makes of it, both as change leaves them.
func machine(t *testing.T, kit conversiontest.Kit, authoritative string, change func(mapi, capi *unstructured.Unstructured)) inventory.Pair {
	t.Helper()
	mapi := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": map[string]any{"name": "a", "namespace": "openshift-machine-api"},
		"spec":   map[string]any{"authoritativeAPI": authoritative, "providerSpec": map[string]any{"value": kit.ProviderSpec}},
		"status": map[string]any{"authoritativeAPI": authoritative},
	}}
	twin, errs := core.ToClusterAPI("Machine", mapi, kit.Env())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	change(mapi, twin.Core)
	kind, _ := authority.KindNamed("Machine")
	return inventory.Pair{Kind: kind, Name: "a", MachineAPI: object(t, mapi), ClusterAPI: object(t, twin.Core), Infra: object(t, twin.Infra)}
}

func TestWhatDoesNotConvertIsNamedWithItsSide(t *testing.T) {
	pair, twin, env := mirrored(t, platformstest.Kits()[0])
	if err := unstructured.SetNestedField(twin.Core.Object, "v1.2.3", "spec", "template", "spec", "version"); err != nil {
		t.Fatal(err)
	}
	pair.ClusterAPI = object(t, twin.Core)
	c, err := diff.Compare(pair, authority.MachineAPI, env, byNone)
	if err != nil || len(c.Unspeakable) != 1 || c.Unspeakable[0].Side != authority.ClusterAPI ||
		c.Unspeakable[0].Path != "spec.template.spec.version" || c.Same() {
		t.Errorf("%v %+v", err, c)
	}
	pair, _, env = mirrored(t, platformstest.Kits()[0])
	pair.Infra = nil
	if c, err = diff.Compare(pair, authority.MachineAPI, env, byNone); err != nil || len(c.Unspeakable) != 1 || c.Unspeakable[0].Path != "" ||
		!strings.Contains(c.Unspeakable[0].Reason, "Poundlock does not recreate it") {
		t.Errorf("a missing template, for which the mirror and check have a sentence: %v %+v", err, c.Unspeakable)
	}
	pair.ClusterAPI = nil
	if _, err := diff.Compare(pair, authority.MachineAPI, env, byNone); err == nil {
		t.Error("half a pair was compared")
	}
}
