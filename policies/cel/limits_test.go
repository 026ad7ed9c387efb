// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/cel"
	"github.com/poundlock/poundlock/policies/policiestest"
	"github.com/poundlock/poundlock/test/stories"
)

// update is a person's change of a MachineSet for which Cluster API is authoritative.
func update(t testing.TB, before, after map[string]any) policies.Change {
	t.Helper()
	object := func(spec map[string]any) *policies.Object {
		spec["authoritativeAPI"] = "ClusterAPI"
		raw, err := json.Marshal(map[string]any{
			"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "metadata": map[string]any{"name": "worker-a"},
			"spec": spec, "status": map[string]any{"authoritativeAPI": "ClusterAPI"},
		})
		if err != nil {
			t.Fatal(err)
		}
		o, err := policies.ParseObject(raw)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	return policies.Change{
		Subject: policies.Subject{
			Side: policies.SideMachineAPI, Kind: "MachineSet", Resource: schema.GroupResource{Group: "machine.openshift.io", Resource: "machinesets"},
			Namespace: policiestest.MachineAPINamespace, Name: "worker-a", TwinNamespace: policiestest.ClusterAPINamespace,
		},
		Operation: admissionv1.Update, Old: object(before), New: object(after),
	}
}

// template is a set's spec with a providerSpec of that value.
func template(value any) map[string]any {
	return map[string]any{"template": map[string]any{"spec": map[string]any{"providerSpec": map[string]any{"value": value}}}}
}

// big is a providerSpec of about 64 KiB: many lists of small objects, as block devices and tags are.
func big(change func(i int) string) map[string]any {
	out := map[string]any{}
	for i := range 40 {
		var list []any
		for j := range 25 {
			list = append(list, map[string]any{"name": fmt.Sprintf("tag-%d-%d", i, j), "value": "some value of a tag", "ebs": map[string]any{"size": change(i*25 + j)}})
		}
		out[fmt.Sprintf("list%d", i)] = list
	}
	return out
}

// TestCost keeps a providerSpec of 64 KiB within what an API server lets a policy spend.
func TestCost(t *testing.T) {
	stories.Long(t)
	e := compile(t)
	same := func(int) string { return "120" }
	for name, tt := range map[string]struct {
		after  map[string]any
		denied bool
	}{
		"nothing is changed":              {after: big(same)},
		"the last of its items":           {after: big(func(i int) string { return map[bool]string{true: "121", false: "120"}[i == 999] }), denied: true},
		"every tenth of its items":        {after: big(func(i int) string { return map[bool]string{true: "121", false: "120"}[i%10 == 0] }), denied: true},
		"all of its items":                {after: big(func(int) string { return "121" }), denied: true},
		"the whole of it is taken away":   {after: map[string]any{}, denied: true},
		"an empty list is added to it":    {after: with(big(same), "more", []any{}), denied: true},
		"a list of one is added to it":    {after: with(big(same), "more", []any{1}), denied: true},
		"nothing but empties, everywhere": {after: emptied(big(same)), denied: true},
		"nothing but nulls, everywhere":   {after: nulled(big(same))},
	} {
		t.Run(name, func(t *testing.T) {
			c := update(t, template(big(same)), template(tt.after))
			if n := len(c.Old.Raw()); n < 64<<10 {
				t.Fatalf("the object has %d bytes, want 64 KiB", n)
			}
			for _, p := range e {
				for _, d := range p.decide(t.Context(), c) {
					if d.Evaluation == "error" || strings.Contains(d.Message, "budget") {
						t.Errorf("%s: %.200s", p.Name, d.Message)
					}
				}
			}
			if value := e.judge(t, c); (len(value) > 0) != tt.denied {
				t.Errorf("denied: %t, want %t", len(value) > 0, tt.denied)
			}
		})
	}
}

func with(m map[string]any, key string, value any) map[string]any {
	m[key] = value
	return m
}

func emptied(m map[string]any) map[string]any { return each(m, []any{}) }

func nulled(m map[string]any) map[string]any { return each(m, nil) }

func each(m map[string]any, value any) map[string]any {
	for _, list := range m {
		for _, item := range list.([]any) {
			item.(map[string]any)["none"] = value
		}
	}
	return m
}

// TestEnginesAgreeOnNothing changes specs that are full of nulls and empty values at random: both engines name the same fields.
func TestEnginesAgreeOnNothing(t *testing.T) {
	e, denied := compile(t), 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 0))
		spec := func() map[string]any {
			inner := map[string]any{"providerSpec": nothing(r, 3), "metadata": nothing(r, 1)}
			return map[string]any{"providerSpec": nothing(r, 3), "a": nothing(r, 3), "template": map[string]any{"spec": inner, "providerSpec": nothing(r, 2)}}
		}
		c := update(t, spec(), spec())
		value := e.judge(t, c)
		if diff := cmp.Diff(judgeInGo(c), value); diff != "" {
			t.Fatalf("seed %d: %s and %s: Go and CEL differ (-Go +CEL):\n%s", seed, c.Old.Spec, c.New.Spec, diff)
		}
		denied += len(value)
	}
	if denied == 0 {
		t.Error("nothing was ever denied")
	}
}

// nothing is a value with little in it.
func nothing(r *rand.Rand, depth int) any {
	switch n := r.IntN(9); {
	case n < 2:
		return nil
	case n == 2:
		return []any{}
	case n == 3:
		return map[string]any{}
	case n == 4 || depth == 0:
		return 1
	case n == 5:
		return []any{nothing(r, depth-1)}
	}
	out := map[string]any{}
	for _, k := range []string{"a", "b"} {
		if r.IntN(2) == 0 {
			out[k] = nothing(r, depth-1)
		}
	}
	return out
}

// TestMessage keeps the message of a change of everything within what an API server shows.
func TestMessage(t *testing.T) {
	before, after := map[string]any{}, map[string]any{}
	for i := range 500 {
		before[fmt.Sprintf("field%d", i)], after[fmt.Sprintf("field%d", i)] = 1, 2
	}
	for _, p := range compile(t) {
		for _, d := range p.decide(t.Context(), update(t, before, after)) {
			if d.Action != "deny" {
				continue
			}
			if len(d.Message) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || !strings.Contains(d.Message, "kubectl -n") {
				t.Errorf("%d bytes, want the rule's own sentence: %s", len(d.Message), d.Message)
			}
		}
	}
}

// TestMaxDepth shows the one place where the two engines may differ: beneath it CEL is the stricter one.
func TestMaxDepth(t *testing.T) {
	e := compile(t)
	for name, tt := range map[string]struct {
		depth  int
		member any
		inGo   bool
		inCEL  bool
	}{
		"an empty list at the last level that is compared by members": {depth: cel.MaxDepth, member: []any{}},
		"a value at the last level that is compared by members":       {depth: cel.MaxDepth, member: 1, inGo: true, inCEL: true},
		"an empty list one level deeper":                              {depth: cel.MaxDepth + 1, member: []any{}, inCEL: true},
		"a value one level deeper":                                    {depth: cel.MaxDepth + 1, member: 1, inGo: true, inCEL: true},
		"a value far deeper":                                          {depth: cel.MaxDepth + 9, member: 1, inGo: true, inCEL: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := update(t, nested(tt.depth, nil), nested(tt.depth, tt.member))
			if got := len(judgeInGo(c)) > 0; got != tt.inGo {
				t.Errorf("Go denies: %t, want %t", got, tt.inGo)
			}
			if got := len(e.judge(t, c)) > 0; got != tt.inCEL {
				t.Errorf("CEL denies: %t, want %t", got, tt.inCEL)
			}
		})
	}
}

// nested is a spec that has a member at a level; spec's own members are level 1.
func nested(depth int, member any) map[string]any {
	m := map[string]any{"anchor": 1}
	if member != nil {
		m["member"] = member
	}
	for range depth - 1 {
		m = map[string]any{"a": m}
	}
	return m
}

// TestMaxDepthSuffices compares MaxDepth with the deepest member that the conversion of a platform knows:
// spec.template.spec.providerSpec.value.blockDevices[0].ebs.kmsKey.arn of a set.
func TestMaxDepthSuffices(t *testing.T) {
	kms := func(key map[string]any) map[string]any {
		return template(map[string]any{"blockDevices": []any{map[string]any{"ebs": map[string]any{"kmsKey": key}}}})
	}
	c := update(t, kms(map[string]any{"id": "k"}), kms(map[string]any{"id": "k", "arn": nil}))
	if diff := cmp.Diff(judgeInGo(c), compile(t).judge(t, c)); diff != "" {
		t.Errorf("Go and CEL differ (-Go +CEL):\n%s", diff)
	}
}

// TestOptions wants the identities and namespaces of the configuration in the policies, and no others.
func TestOptions(t *testing.T) {
	o := cel.Options{
		Identities: policies.Identities{policies.Poundlock: {"one", `two"quoted`}},
		Pairs:      authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}},
	}
	all, err := cel.Policies(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if got, want := p.Policy.Spec.MatchConditions[0].Expression, `!(request.userInfo.username in ["one", "two\"quoted"])`; got != want {
			t.Errorf("%s: %s, want %s", p.Policy.Name, got, want)
		}
		want := []string{"m"}
		if p.Policy.Name == "poundlock-surroundings" {
			want = append(want, "c") // mirrors live in both
		}
		if diff := cmp.Diff(want, p.Policy.Spec.MatchConstraints.NamespaceSelector.MatchExpressions[0].Values); diff != "" {
			t.Errorf("%s: namespaces (-want +got):\n%s", p.Policy.Name, diff)
		}
		if raw, _ := json.Marshal(p); strings.Contains(string(raw), "openshift-") {
			t.Errorf("%s names a namespace that is not configured", p.Policy.Name)
		}
		if _, err := validator(p.Policy); err != nil {
			t.Error(err)
		}
	}
}

// TestProvidersClustersInAnyVersion wants an infrastructure cluster held whichever versions its CRD serves.
func TestProvidersClustersInAnyVersion(t *testing.T) {
	all, err := cel.Policies(options())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, p := range all {
		for _, r := range p.Policy.Spec.MatchConstraints.ResourceRules {
			provided := slices.Contains(r.APIGroups, "infrastructure.cluster.x-k8s.io")
			if found = found || provided; slices.Equal(r.APIVersions, []string{"*"}) != provided {
				t.Errorf("%s judges versions %v of %v", p.Policy.Name, r.APIVersions, r.Resources)
			}
		}
	}
	if !found {
		t.Error("no policy holds infrastructure clusters")
	}
}

// TestScalePolicies wants in them the identities and namespaces of the configuration alone.
func TestScalePolicies(t *testing.T) {
	o := cel.Options{
		Identities: policies.Identities{policies.Poundlock: {"one"}, policies.Autoscaler: {"two"}},
		Pairs:      authority.Pairs{{MachineAPI: "m", ClusterAPI: "c"}},
	}
	for i, p := range cel.ScalePolicies(o) {
		namespaces, exempt := []string{"m", "c"}[i], []string{`["one"]`, `["one", "two"]`}[i]
		if got := p.Policy.Spec.MatchConstraints.NamespaceSelector.MatchExpressions[0].Values; !slices.Equal(got, []string{namespaces}) {
			t.Errorf("%s: namespaces %v, want %s", p.Policy.Name, got, namespaces)
		}
		if got := p.Policy.Spec.MatchConditions[0].Expression; got != "!(request.userInfo.username in "+exempt+")" {
			t.Errorf("%s: %s lets others through than %s", p.Policy.Name, got, exempt)
		}
		if raw, _ := json.Marshal(p); strings.Contains(string(raw), "openshift-") {
			t.Errorf("%s names a namespace that is not configured", p.Policy.Name)
		}
		if p.Binding.Spec.PolicyName != p.Policy.Name || p.Binding.Spec.ParamRef.Namespace != "" {
			t.Errorf("%s: its binding gives %+v", p.Policy.Name, p.Binding.Spec)
		}
	}
}
