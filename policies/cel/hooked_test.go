// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/cel"
	"github.com/poundlock/poundlock/policies/policiestest"
	"github.com/poundlock/poundlock/test/stories"
)

// TestHookedPolicyAgrees puts the cases of a Machine to both engines, with the marks that Poundlock keeps on a Machine: by these the policy finds out what the
// rules see in the Machine API object.
func TestHookedPolicyAgrees(t *testing.T) {
	stories.Long(t)
	p := hookedPolicy(t)
	denied := map[string]int{}
	for _, rule := range []string{"authority/delete-hooked", "authority/delete-unknown-instance"} {
		cases, err := policiestest.Load("../authority/testdata/cases")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if c.Rule != rule || c.Change.Side != policies.SideClusterAPI || c.Change.Kind != "Machine" {
				continue
			}
			t.Run(rule+"/"+c.Name, func(t *testing.T) {
				current := authority.Read(c.Change.Facts.Twin).Current
				marked := c.Change
				marked.Old = withMarks(t, c.Change.Old, c.Change.Facts.Twin != nil, current == authority.MachineAPI)
				want := map[string]denial{}
				for _, r := range authority.Rules().Applying(marked) {
					for _, d := range r.Check(marked).Denials {
						want[r.ID] = denial{Fields: []string{d.Field}, Reason: d.Detail}
						denied[r.ID]++
					}
				}
				if diff := cmp.Diff(want, judgedBy(t, p, marked)); diff != "" {
					t.Errorf("Go and CEL differ (-Go +CEL):\n%s", diff)
				}
				collected := marked
				collected.Name = ""
				if diff := cmp.Diff(want, judgedBy(t, p, collected)); diff != "" {
					t.Errorf("Go and CEL differ about a collection (-Go +CEL):\n%s", diff)
				}
				if current == authority.Migrating { // a pause is that of what Machine API runs, as far as the policy knows
					marked.Old = withMarks(t, c.Change.Old, true, true)
					if got := judgedBy(t, p, marked); len(got) > 0 {
						t.Errorf("it is paused, and refused: %v", got)
					}
				}
			})
		}
	}
	if denied["authority/delete-hooked"] == 0 || denied["authority/delete-unknown-instance"] == 0 {
		t.Errorf("denials: %v", denied)
	}
}

// TestHookedPolicyNamesEachHookOnce: a Machine may have Poundlock's hook and several of others, and the first of these is named.
func TestHookedPolicyNamesEachHookOnce(t *testing.T) {
	o, err := policies.ParseObject([]byte(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"worker-a","finalizers":["` + authority.SyncFinalizer + `"],"annotations":{
		"pre-terminate.delete.hook.machine.cluster.x-k8s.io/poundlock-until-provider-knows-instance":"poundlock",
		"pre-terminate.delete.hook.machine.cluster.x-k8s.io/b":"", "pre-drain.delete.hook.machine.cluster.x-k8s.io/z":"","pre-drain.delete.hook.machine.cluster.x-k8s.io/a":""}}}`))
	if err != nil {
		t.Fatal(err)
	}
	twin, err := policies.ParseObject([]byte(`{"status":{"authoritativeAPI":"ClusterAPI"}}`))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := policiestest.Load("../authority/testdata/cases")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(cases, func(c policiestest.Case) bool { return c.Rule == "authority/delete-hooked" })
	c := cases[i].Change
	c.Old, c.Facts.Twin = o, twin
	want := map[string]denial{}
	for _, r := range authority.Rules().Applying(c) {
		for _, d := range r.Check(c).Denials {
			want[r.ID] = denial{Fields: []string{d.Field}, Reason: d.Detail}
		}
	}
	if len(want) != 2 {
		t.Errorf("Go names %v", want)
	}
	if diff := cmp.Diff(want, judgedBy(t, hookedPolicy(t), c)); diff != "" {
		t.Errorf("Go and CEL differ (-Go +CEL):\n%s", diff)
	}
}

// TestHookedPolicies wants in them the identities and namespaces of the configuration alone.
func TestHookedPolicies(t *testing.T) {
	for _, p := range cel.HookedPolicies(cel.Options{
		Identities: policies.Identities{policies.Poundlock: {"one"}, policies.GarbageCollector: {"two"}}, Pairs: authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}},
	}) {
		if got := p.Policy.Spec.MatchConstraints.NamespaceSelector.MatchExpressions[0].Values; !slices.Equal(got, []string{"c"}) {
			t.Errorf("namespaces %v", got)
		}
		if raw, _ := json.Marshal(p); strings.Contains(string(raw), "openshift-") || !strings.Contains(p.Policy.Spec.MatchConditions[0].Expression, `["one", "two"]`) {
			t.Errorf("it names what is not configured: %s", raw)
		}
	}
}

func hookedPolicy(t *testing.T) enginePolicy {
	t.Helper()
	all := cel.HookedPolicies(options())
	if len(all) != 1 {
		t.Fatalf("%d policies", len(all))
	}
	v, err := validator(all[0].Policy)
	if err != nil {
		t.Fatal(err)
	}
	return enginePolicy{all[0].Policy, v}
}

func judgedBy(t *testing.T, p enginePolicy, c policies.Change) map[string]denial {
	t.Helper()
	out := map[string]denial{}
	for _, d := range p.decide(t.Context(), c) {
		if d.Evaluation == validating.EvalError {
			t.Fatal(d.Message)
		}
		if d.Action == validating.ActionDeny {
			read(t, d.Message, out)
		}
	}
	return out
}

// withMarks is a Cluster API Machine as Poundlock leaves it: it holds what it mirrors, and pauses what Machine API runs.
func withMarks(t *testing.T, o *policies.Object, mirrored, paused bool) *policies.Object {
	t.Helper()
	all := map[string]any{}
	if err := json.Unmarshal(o.Raw(), &all); err != nil {
		t.Fatal(err)
	}
	metadata, _ := all["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	finalizers, _ := metadata["finalizers"].([]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	if mirrored {
		metadata["finalizers"] = append(finalizers, authority.SyncFinalizer)
	}
	if paused {
		annotations[authority.PausedAnnotation] = "true"
	}
	metadata["annotations"] = annotations
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	out, err := policies.ParseObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
