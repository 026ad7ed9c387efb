// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/cel"
	"github.com/poundlock/poundlock/policies/policiestest"
)

// TestTwins wants a twin of each row that needs no lookup, and none besides.
func TestTwins(t *testing.T) {
	var rows, twins []string
	for _, r := range cel.Rules() {
		if r.Needs == nil {
			rows = append(rows, r.ID)
		}
	}
	for _, w := range cel.Twins() {
		twins = append(twins, w.Rule)
	}
	slices.Sort(rows)
	slices.Sort(twins)
	if diff := cmp.Diff(rows, twins); diff != "" {
		t.Errorf("rows without a lookup and twins (-rows +twins):\n%s", diff)
	}
}

// TestEnginesAgree puts every case of every rule to both engines: each rule with a twin names the same fields for the
// same reason in both.
func TestEnginesAgree(t *testing.T) {
	var cases []policiestest.Case
	for _, of := range []string{"authority", "controlplane"} {
		loaded, err := policiestest.Load("../" + of + "/testdata/cases")
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, loaded...)
	}
	e := compile(t)
	denied := 0
	for _, c := range cases {
		if c.Change.Side != policies.SideMachineAPI && c.Change.Side != policies.Surroundings {
			continue
		}
		t.Run(c.Rule+"/"+c.Name, func(t *testing.T) {
			want, got := judgeInGo(c.Change), e.judge(t, c.Change)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Go and CEL differ (-Go +CEL):\n%s", diff)
			}
			denied += len(got)
			collected := c.Change // the review of an object of a collection has no name
			if collected.Name = ""; c.Change.Operation == admissionv1.Delete {
				if diff := cmp.Diff(want, e.judge(t, collected)); diff != "" {
					t.Errorf("Go and CEL differ about a collection (-Go +CEL):\n%s", diff)
				}
			}
		})
	}
	if denied == 0 {
		t.Error("CEL denied nothing at all")
	}
	t.Logf("CEL had something to say %d times", denied)
}

// TestEnginesAgreeAboutWriters puts every write of other components, at each stage of a move and by each identity, to both engines.
func TestEnginesAgreeAboutWriters(t *testing.T) {
	writes, err := policiestest.LoadWrites("../authority/testdata/writers/writers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, denied := compile(t), 0
	for _, w := range writes {
		if w.Side != policies.SideMachineAPI {
			continue
		}
		actors := map[policies.Actor]bool{w.As: true, policies.Anyone: true, policies.MachineAPIController: true}
		for a := range w.Except {
			actors[a] = true
		}
		for _, stage := range policiestest.Stages() {
			c, err := w.ChangeAt(stage)
			if err != nil {
				t.Fatal(err)
			}
			for actor := range actors {
				c.Actor = actor
				want, got := judgeInGo(c), e.judge(t, c)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s by %q: Go and CEL differ (-Go +CEL):\n%s", w.It, stage, actor, diff)
				}
				denied += len(got)
			}
		}
	}
	if denied == 0 {
		t.Error("CEL denied nothing at all")
	}
}

// judgeInGo is what the rows that have a twin say.
func judgeInGo(c policies.Change) map[string]denial {
	value := map[string]denial{}
	for _, r := range cel.Rules().Applying(c) {
		if r.Needs != nil {
			continue
		}
		v := r.Check(c)
		for _, e := range v.Denials {
			fields := append(value[r.ID].Fields, e.Field)
			slices.Sort(fields)
			value[r.ID] = denial{Fields: fields, Reason: ordered(e.Detail)}
		}
		for _, w := range v.Warnings {
			value[r.ID] = denial{Fields: []string{"spec.template.spec.authoritativeAPI"}, Reason: w}
		}
	}
	return value
}
