// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

func machineUpdate() policies.Change {
	return policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine"}, Operation: admissionv1.Update}
}

func TestScopeCovers(t *testing.T) {
	scope := policies.Scope{Side: policies.SideMachineAPI, Kinds: []string{"Machine"}, Operations: []admissionv1.Operation{admissionv1.Update}}
	for name, tt := range map[string]struct {
		change func(*policies.Change)
		scope  func(*policies.Scope)
		want   bool
	}{
		"what it is written for":            {want: true},
		"another side":                      {change: func(c *policies.Change) { c.Side = policies.SideClusterAPI }},
		"another kind":                      {change: func(c *policies.Change) { c.Kind = "MachineSet" }},
		"another operation":                 {change: func(c *policies.Change) { c.Operation = admissionv1.Delete }},
		"a subresource":                     {change: func(c *policies.Change) { c.Subresource = "status" }},
		"a dry run":                         {change: func(c *policies.Change) { c.DryRun = true }, want: true},
		"a scope without kinds is none":     {scope: func(s *policies.Scope) { s.Kinds = nil }},
		"a scope without operations is too": {scope: func(s *policies.Scope) { s.Operations = nil }},
		"a scope of that subresource": {
			scope:  func(s *policies.Scope) { s.Subresource = "status" },
			change: func(c *policies.Change) { c.Subresource = "status" }, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := machineUpdate(), scope
			if tt.change != nil {
				tt.change(&c)
			}
			if tt.scope != nil {
				tt.scope(&s)
			}
			if got := s.Covers(c); got != tt.want {
				t.Errorf("covers: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	here := []policies.Scope{{Side: policies.SideMachineAPI, Kinds: []string{"Machine"}, Operations: []admissionv1.Operation{admissionv1.Update}}}
	elsewhere := []policies.Scope{{Side: policies.SideClusterAPI, Kinds: []string{"Machine"}, Operations: []admissionv1.Operation{admissionv1.Update}}}
	check := func(v policies.Verdict) func(policies.Change) policies.Verdict {
		return func(policies.Change) policies.Verdict { return v }
	}
	needs := func(n policies.Need) func(policies.Change) policies.Need {
		return func(policies.Change) policies.Need { return n }
	}
	denied := policies.Deny(field.Forbidden(field.NewPath("spec"), "no"))
	set := policies.Set{
		{ID: "test/silent", On: here, Check: check(policies.Verdict{})},
		{ID: "test/denies", On: here, Check: check(denied), Needs: needs(policies.NeedTwin)},
		{ID: "test/warns", On: here, Check: check(policies.Warn("careful")), Needs: needs(policies.NeedInfra)},
		{ID: "test/denies-too", On: here, Check: check(denied)},
		{ID: "test/elsewhere", On: elsewhere, Check: check(denied), Needs: needs(policies.NeedConversion)},
	}
	c := machineUpdate()
	j := set.Judge(c)
	var ids []string
	for _, f := range j {
		ids = append(ids, f.Rule)
	}
	if diff := cmp.Diff([]string{"test/silent", "test/denies", "test/warns", "test/denies-too"}, ids); diff != "" {
		t.Errorf("every rule that sees the change answers, in order (-want +got):\n%s", diff)
	}
	if j.Allowed() {
		t.Error("allowed although a rule denies")
	}
	if !(policies.Set{set[0], set[2]}).Judge(c).Allowed() {
		t.Error("not allowed although rules only warn")
	}
	if got, want := set.Needs(c), policies.NeedTwin|policies.NeedInfra; got != want {
		t.Errorf("needs %b, want those of the rules that see the change, %b", got, want)
	}
}

func TestIdentities(t *testing.T) {
	i := policies.Identities{
		policies.Poundlock:  {"system:serviceaccount:ns:poundlock"},
		policies.Autoscaler: {"a", "b"},
	}
	for username, want := range map[string]policies.Actor{
		"system:serviceaccount:ns:poundlock":    policies.Poundlock,
		"a":                                     policies.Autoscaler,
		"b":                                     policies.Autoscaler,
		"":                                      policies.Anyone,
		"system:admin":                          policies.Anyone,
		"system:masters":                        policies.Anyone,
		"system:serviceaccount:ns:poundlock2":   policies.Anyone,
		"system:serviceaccount:other:poundlock": policies.Anyone,
		"SYSTEM:serviceaccount:ns:poundlock":    policies.Anyone,
		" system:serviceaccount:ns:poundlock":   policies.Anyone,
		"system:serviceaccount:ns:poundlock/extra": policies.Anyone,
	} {
		if got := i.Actor(username); got != want {
			t.Errorf("%q is %q, want %q", username, got, want)
		}
	}
}

func TestParseObject(t *testing.T) {
	for name, tt := range map[string]struct {
		raw     string
		none    bool
		wantErr bool
	}{
		"nothing is no object":       {none: true},
		"null is no object":          {raw: `null`, none: true},
		"an empty object":            {raw: `{}`},
		"metadata that is null":      {raw: `{"metadata":null,"spec":null}`},
		"a member that is not known": {raw: `{"metadata":{"managedFields":[{}]},"data":1}`},
		"a list":                     {raw: `[]`, wantErr: true},
		"half an object":             {raw: `{"spec":`, wantErr: true},
		"labels of numbers":          {raw: `{"metadata":{"labels":{"a":1}}}`, wantErr: true},
		"a time that is none":        {raw: `{"metadata":{"deletionTimestamp":"soon"}}`, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := policies.ParseObject([]byte(tt.raw))
			if (err != nil) != tt.wantErr {
				t.Fatalf("error %v, want one: %t", err, tt.wantErr)
			}
			if err == nil && (o == nil) != tt.none {
				t.Errorf("object %v, want none: %t", o, tt.none)
			}
		})
	}
}

// TestObjectDescribesItself reads what rules ask of an object, of one that is not there too.
func TestObjectDescribesItself(t *testing.T) {
	o, err := policies.ParseObject(
		[]byte(`{"kind":"Machine","metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["f"],"annotations":{"a":""}},"spec":{"x":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if o.Kind != "Machine" || !o.Deleting() || !o.HasFinalizer("f") || o.HasFinalizer("g") || !o.HasAnnotation("a") || o.HasAnnotation("b") ||
		string(o.Spec) != `{"x":1}` {
		t.Errorf("read as %+v", o)
	}
	var none *policies.Object
	if none.Deleting() || none.HasFinalizer("f") || none.HasAnnotation("a") {
		t.Error("an object that is not there has something")
	}
}
