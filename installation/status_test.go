// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/internal/operatorconditions"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func statusOf(p Pass, m Memory, was bool, now time.Time, kind configv1.ClusterStatusConditionType) string {
	for _, c := range p.Conditions(m, was, now) {
		if c.Type == kind {
			return string(c.Status)
		}
	}
	return ""
}

func TestDegraded(t *testing.T) {
	installed := Content{"v1", "h"}
	ok := Outcome{Provider: "cluster-api", Wanted: installed, Installed: installed}
	failing, waiting, final := ok, ok, ok
	failing.Err, final.Err = errors.New("timeout"), &Final{errors.New("invalid")}
	waiting.Stage, waiting.Waits, waiting.Since = bundle.Workloads, "Deployment/d", noon
	type pass struct {
		outcome Outcome
		after   time.Duration // since the pass before
	}
	many := func(o Outcome, n int, each time.Duration) (out []pass) {
		for range n {
			out = append(out, pass{o, each})
		}
		return out
	}
	for name, c := range map[string]struct {
		passes []pass
		want   string
	}{
		"all is well":                         {many(ok, 3, time.Second), "False"},
		"one transient error":                 {many(failing, 1, time.Second), "False"},
		"five errors in a moment":             {many(failing, 5, time.Second), "False"},
		"four errors in an hour":              {many(failing, 4, 15*time.Minute), "False"},
		"five errors in three minutes":        {many(failing, 5, 45*time.Second), "True"},
		"a success between":                   {append(append(many(failing, 3, time.Minute), many(ok, 1, 0)...), many(failing, 3, time.Minute)...), "False"},
		"an error that stays, once":           {many(final, 1, time.Second), "False"},
		"an error that stays, twice":          {many(final, 2, time.Second), "True"},
		"19 minutes in a stage":               {[]pass{{waiting, 19 * time.Minute}}, "False"},
		"21 minutes in a stage":               {[]pass{{waiting, 21 * time.Minute}}, "True"},
		"degraded until a whole pass is well": {append(many(final, 2, time.Second), pass{waiting, time.Second}), "True"},
		"a whole pass is well":                {append(many(final, 2, time.Second), pass{ok, time.Second}), "False"},
	} {
		t.Run(name, func(t *testing.T) {
			now, memory, was := noon, Memory{}, false
			for _, one := range c.passes {
				now = now.Add(one.after)
				p := Pass{Platform: Platform{Name: "AWS"}, Outcomes: []Outcome{one.outcome}}
				memory = memory.Remember(p, now)
				was = statusOf(p, memory, was, now, configv1.OperatorDegraded) == "True"
			}
			if got := map[bool]string{true: "True", false: "False"}[was]; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	old, next := Content{"v1", "a"}, Content{"v2", "b"}
	on := Platform{Name: "AWS"}
	for name, c := range map[string]struct {
		pass                                          Pass
		available, progressing, degraded, upgradeable string
	}{
		"an unsupported platform": {Pass{Platform: Platform{Unsupported: "no"}}, "True", "False", "False", "True"},
		"no platform yet":         {Pass{Platform: Platform{Waits: "x"}}, "False", "False", "False", "True"},
		"first installation":      {Pass{Platform: on, Outcomes: []Outcome{{Wanted: next, Stage: bundle.Workloads, Waits: "x", Since: noon}}}, "False", "True", "False", "True"},
		"installed":               {Pass{Platform: on, Outcomes: []Outcome{{Wanted: next, Installed: next}}}, "True", "False", "False", "True"},
		"an upgrade":              {Pass{Platform: on, Outcomes: []Outcome{{Wanted: next, Installed: old, Stage: bundle.Workloads, Waits: "x", Since: noon}}}, "True", "True", "False", "True"},
		"drift is no progress":    {Pass{Platform: on, Outcomes: []Outcome{{Wanted: next, Installed: next, Stage: bundle.Workloads, Waits: "x", Since: noon}}}, "True", "False", "False", "True"},
		"a workload is down":      {Pass{Platform: on, Outcomes: []Outcome{{Wanted: next, Installed: next, Down: "x"}}}, "False", "False", "False", "True"},
		"one more provider":       {Pass{Platform: on, Served: true, Outcomes: []Outcome{{Wanted: next, Installed: next}, {Wanted: next, Stage: bundle.Workloads, Waits: "x", Since: noon}}}, "True", "True", "False", "True"},
		"the second of the first": {Pass{Platform: on, Outcomes: []Outcome{{Wanted: next, Installed: next}, {Wanted: next, Stage: bundle.Workloads, Waits: "x", Since: noon}}}, "False", "True", "False", "True"},
		"old storage versions":    {Pass{Platform: on, Outcomes: []Outcome{{Wanted: next, Installed: next, Stored: []string{"x"}}}}, "True", "False", "False", "False"},
		"definitions not read":    {Pass{Platform: on, Outcomes: []Outcome{{Wanted: next, Installed: next, Err: errors.New("x"), StoredUnseen: true}}}, "True", "False", "False", ""},
		"one read, one not":       {Pass{Platform: on, Outcomes: []Outcome{{Wanted: next, Installed: next, Err: errors.New("x"), StoredUnseen: true, Stored: []string{"x"}}}}, "True", "False", "False", "False"},
		"core alone":              {Pass{Platform: on, Lacks: Lacks("AWS", []Provider{{Provider: bundle.Provider{Type: bundle.Core}}}), Outcomes: []Outcome{{Wanted: next, Installed: next}}}, "False", "False", "False", "True"},
		"nothing to install":      {Pass{Platform: on}, "False", "False", "False", "True"},
		"nothing could be read":   {Pass{Platform: on, Unread: true, Err: errors.New("x")}, "", "", "False", ""},
		"core, and the release is broken": {Pass{
			Platform: on, Err: &Final{errors.New("x")}, Lacks: Lacks("AWS", []Provider{{Provider: bundle.Provider{Type: bundle.Core}}}),
			Outcomes: []Outcome{{Wanted: next, Installed: next}},
		}, "False", "False", "False", "True"},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, want := range map[configv1.ClusterStatusConditionType]string{
				configv1.OperatorAvailable: c.available, configv1.OperatorProgressing: c.progressing, configv1.OperatorDegraded: c.degraded,
				configv1.OperatorUpgradeable: c.upgradeable,
			} {
				if got := statusOf(c.pass, Memory{}, false, noon, kind); got != want {
					t.Errorf("%s is %s, want %s", kind, got, want)
				}
			}
		})
	}
}

func TestRelated(t *testing.T) {
	of := func(text string) Object { return Object{object(t, text), bundle.Definitions} }
	definition := of("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}}")
	all := []Provider{
		{Objects: []Object{definition, of("{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, namespace: ns}}"), of("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}}")}},
		{Objects: []Object{definition, of("{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: d}}")}},
	}
	want := []configv1.ObjectReference{
		{Resource: "namespaces", Name: "openshift-cluster-api"}, {Group: "config.openshift.io", Resource: "clusteroperators", Name: "cluster-api"}, {Resource: "configmaps", Namespace: "openshift-cluster-api"},
		{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations", Name: "d"}, {Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "things.example.com"},
		{Group: "apps", Resource: "deployments", Namespace: "ns", Name: "b"},
	}
	if diff := cmp.Diff(want, Related(all)); diff != "" {
		t.Error(diff)
	}
}

func TestVersionsComeLast(t *testing.T) {
	before := []configv1.OperandVersion{{Name: "operator", Version: "4.20"}}
	done := Outcome{Provider: "cluster-api", Wanted: Content{"v2", "b"}, Installed: Content{"v2", "b"}}
	waiting := done
	waiting.Stage = bundle.Workloads
	if got := (Pass{Version: "4.21", Outcomes: []Outcome{waiting}}).Versions(before); got[0].Version != "4.20" {
		t.Error(got)
	}
	if got := (Pass{Version: "4.21", Outcomes: []Outcome{done}, Missing: []string{"infrastructure-aws"}}).Versions(before); got[0].Version != "4.20" {
		t.Error("what is installed of a provider whose ConfigMap is missing is an earlier release's:", got)
	}
	if got := (Pass{Version: "4.21", Outcomes: []Outcome{done}, Lacks: "x"}).Versions(before); got[0].Version != "4.20" {
		t.Error("core is installed, and the infrastructure provider not there yet:", got)
	}
	if got := (Pass{Version: "4.21", Outcomes: []Outcome{done}}).Versions(before); len(got) != 2 || got[0].Version != "4.21" || got[1].Version != "v2" {
		t.Error(got)
	}
}

func TestMergeChangesTimesOnFlipsOnly(t *testing.T) {
	p := Pass{Platform: Platform{Name: "AWS"}}
	first, changed := operatorconditions.Merge(nil, p.Conditions(Memory{}, false, noon), noon)
	if !changed {
		t.Fatal("nothing was there")
	}
	later := noon.Add(time.Hour)
	if _, changed := operatorconditions.Merge(first, p.Conditions(Memory{}, false, later), later); changed {
		t.Error("nothing changed")
	}
	p.Platform = Platform{Waits: "another message"}
	second, changed := operatorconditions.Merge(first, p.Conditions(Memory{}, false, later), later)
	if !changed || !second[0].LastTransitionTime.Equal(&first[0].LastTransitionTime) {
		t.Error("the time changed with a message")
	}
	p.Platform = Platform{Unsupported: "x"}
	third, _ := operatorconditions.Merge(second, p.Conditions(Memory{}, false, later), later)
	if third[0].LastTransitionTime.Time != later {
		t.Error("the time did not change with a status")
	}
}

func TestProgressKeepsTimes(t *testing.T) {
	waiting := Outcome{Wanted: Content{"v2", "b"}, Stage: bundle.Workloads, Waits: "x", Err: errors.New("e")}
	first := Progress{}.After(waiting, true, noon)
	back, err := ParseProgress(first.Text())
	if err != nil {
		t.Fatal(err)
	}
	if again := back.After(waiting, true, noon.Add(time.Hour)); again.Text() != first.Text() {
		t.Errorf("%s became %s", first.Text(), again.Text())
	}
	waiting.Err = errors.New("the same in other words")
	if again := back.After(waiting, true, noon.Add(time.Hour)); again.Text() != first.Text() || again.Trouble != "e" {
		t.Errorf("each difference is a write: %s became %s", first.Text(), again.Text())
	}
	if once := (Progress{}).After(waiting, false, noon); once.Trouble != "" {
		t.Errorf("one error is not noted: %s", once.Text())
	}
	waiting.Err = &Final{Err: waiting.Err}
	if refused := back.After(waiting, true, noon); refused.Trouble != "" || refused.Problem == "" {
		t.Errorf("it does not pass by itself: %s", refused.Text())
	}
	waiting.Stage, waiting.Err = bundle.Serving, nil
	if moved := back.After(waiting, false, noon.Add(time.Hour)); moved.Since != noon.Add(time.Hour) || !moved.FailingSince.IsZero() || moved.Trouble != "" {
		t.Error(moved.Text())
	}
}
