// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/poundlock/poundlock/machine/health"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// target is a Machine that is an hour old, owned by a set and has a Node that has been ready since; edits change it.
func target(edits ...func(*health.Target)) health.Target {
	t := health.Target{
		Machine: &machinev1beta1.Machine{
			ObjectMeta: metav1.ObjectMeta{
				Name: "m", CreationTimestamp: ago(time.Hour),
				OwnerReferences: []metav1.OwnerReference{{Kind: "MachineSet", Name: "set", UID: "set", Controller: new(true)}},
			},
			Status: machinev1beta1.MachineStatus{NodeRef: &corev1.ObjectReference{Name: "n"}, Phase: new("Running")},
		},
		Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
	}
	condition("Ready", "True", time.Hour)(&t)
	for _, edit := range edits {
		edit(&t)
	}
	return t
}

func condition(kind corev1.NodeConditionType, status corev1.ConditionStatus, since time.Duration) func(*health.Target) {
	return func(t *health.Target) {
		t.Node.Status.Conditions = slices.DeleteFunc(t.Node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
		t.Node.Status.Conditions = append(t.Node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: ago(since)})
	}
}

func broken(t *health.Target) { condition("Ready", "False", time.Hour)(t) }

func noNode(age time.Duration) func(*health.Target) {
	return func(t *health.Target) {
		t.Node, t.Machine.Status.NodeRef, t.Machine.CreationTimestamp = nil, nil, ago(age)
	}
}

func updated(since time.Duration) func(*health.Target) {
	return func(t *health.Target) { t.Machine.Status.LastUpdated = new(ago(since)) }
}

func inClusterAPI(t *health.Target) { t.Machine.Status.AuthoritativeAPI = "ClusterAPI" }

func marked(t *health.Target) {
	t.Machine.Annotations = map[string]string{"cluster.x-k8s.io/remediate-machine": ""}
}

func deleted(t *health.Target)  { t.Machine.DeletionTimestamp = &metav1.Time{Time: now} }
func orphaned(t *health.Target) { t.Machine.OwnerReferences = nil }

func spec(edits ...func(*machinev1beta1.MachineHealthCheckSpec)) *machinev1beta1.MachineHealthCheckSpec {
	five := metav1.Duration{Duration: 5 * time.Minute}
	s := &machinev1beta1.MachineHealthCheckSpec{UnhealthyConditions: []machinev1beta1.UnhealthyCondition{
		{Type: "Ready", Status: "False", Timeout: five}, {Type: "Ready", Status: "Unknown", Timeout: five}, {Type: "DiskPressure", Status: "True", Timeout: metav1.Duration{Duration: time.Minute}},
	}}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func TestOf(t *testing.T) {
	type want struct {
		Cause            health.Cause
		In               time.Duration
		Unhealthy, Whole bool
	}
	startup := func(d time.Duration) *machinev1beta1.MachineHealthCheckSpec {
		return spec(func(s *machinev1beta1.MachineHealthCheckSpec) { s.NodeStartupTimeout = &metav1.Duration{Duration: d} })
	}
	for name, c := range map[string]struct {
		spec *machinev1beta1.MachineHealthCheckSpec
		in   health.Target
		want want
	}{
		"a ready Node is healthy":                              {in: target(), want: want{Whole: true}},
		"a condition that the check does not name is no fault": {in: target(condition("MemoryPressure", "True", time.Hour)), want: want{Whole: true}},
		"a Node that does not report a named condition is healthy": {
			in: target(func(t *health.Target) { t.Node.Status.Conditions = nil }), want: want{Whole: true}},
		"a condition is amiss, but not for long enough": {
			in: target(condition("Ready", "False", time.Minute)), want: want{Cause: health.NodeCondition, In: 4 * time.Minute}},
		"a condition is amiss for all but an instant": {
			in: target(condition("Ready", "False", 5*time.Minute-1)), want: want{Cause: health.NodeCondition, In: 1}},
		"a condition is amiss for exactly as long as the check says": {
			in: target(condition("Ready", "Unknown", 5*time.Minute)), want: want{Cause: health.NodeCondition, Unhealthy: true}},
		"of two conditions the one that is due first counts": {
			in:   target(condition("Ready", "False", time.Minute), condition("DiskPressure", "True", 30*time.Second)),
			want: want{Cause: health.NodeCondition, In: 30 * time.Second}},
		"one condition suffices, whatever the other waits for": {
			in:   target(condition("Ready", "False", 6*time.Minute), condition("DiskPressure", "True", 0)),
			want: want{Cause: health.NodeCondition, Unhealthy: true}},
		"a Node whose clock is ahead has to wait for longer": {
			in: target(condition("Ready", "False", -time.Minute)), want: want{Cause: health.NodeCondition, In: 6 * time.Minute}},
		"a Machine that starts has ten minutes if the check does not say": {
			in: target(noNode(4 * time.Minute)), want: want{Cause: health.StartupTimeout, In: 6 * time.Minute}},
		"a Machine that did not start in time is unhealthy": {
			in: target(noNode(10 * time.Minute)), want: want{Cause: health.StartupTimeout, Unhealthy: true}},
		"a Machine whose phase has changed starts from then on": {
			in: target(noNode(1000*time.Hour), updated(4*time.Minute)), want: want{Cause: health.StartupTimeout, In: 6 * time.Minute}},
		"a Machine whose phase changed long ago did not start in time": {
			in: target(noNode(1000*time.Hour), updated(10*time.Minute)), want: want{Cause: health.StartupTimeout, Unhealthy: true}},
		"a Machine that was restored with a time of before its creation starts with it": {
			in: target(noNode(4*time.Minute), updated(time.Hour)), want: want{Cause: health.StartupTimeout, In: 6 * time.Minute}},
		"a Machine of Cluster API's whose phase has changed starts from then on": {
			in: target(noNode(1000*time.Hour), inClusterAPI, updated(4*time.Minute)), want: want{Cause: health.StartupTimeout, In: 6 * time.Minute}},
		"the check may give it longer": {
			spec: startup(time.Hour), in: target(noNode(10 * time.Minute)), want: want{Cause: health.StartupTimeout, In: 50 * time.Minute}},
		"the check may not care whether it starts": {
			spec: startup(0), in: target(noNode(1000 * time.Hour)), want: want{Whole: true}},
		"a Machine whose Node is gone is unhealthy at once, also where startup does not count": {
			spec: startup(0), in: target(func(t *health.Target) { t.Node = nil }), want: want{Cause: health.NodeGone, Unhealthy: true}},
		"a Machine that failed is unhealthy at once, whatever its Node says": {
			in: target(func(t *health.Target) { t.Machine.Status.Phase = new("Failed") }), want: want{Cause: health.MachineFailed, Unhealthy: true}},
		"a Machine that a person marked for remediation is unhealthy at once, whatever its Node says": {
			in: target(marked), want: want{Cause: health.Marked, Unhealthy: true}},
		"also one that starts": {in: target(noNode(time.Minute), marked), want: want{Cause: health.Marked, Unhealthy: true}},
		"a Machine that is being deleted is not healthy, and nothing need be amiss": {in: target(deleted), want: want{}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.spec == nil {
				c.spec = spec()
			}
			v := health.Of(c.spec, c.in, now)
			if diff := cmp.Diff(c.want, want{v.Cause, v.In, v.Unhealthy(), v.Healthy()}); diff != "" {
				t.Error(diff)
			}
			if (v.Cause == "") != (v.Message == "") {
				t.Errorf("cause %q has the message %q", v.Cause, v.Message)
			}
			if v.In == 0 {
				return
			}
			if later := health.Of(c.spec, c.in, now.Add(v.In)); !later.Unhealthy() {
				t.Errorf("after the %s that it asked for it is still not unhealthy, but waits for %s", v.In, later.In)
			}
		})
	}
}

// TestAMachineThatHasJustMovedToClusterAPI without an instance is starting, however old it is and however often it is looked at, until Cluster API reports a
// phase.
func TestAMachineThatHasJustMovedToClusterAPI(t *testing.T) {
	for _, later := range []time.Duration{0, time.Hour} {
		moved := target(noNode(1000*time.Hour), inClusterAPI)
		if v := health.Of(spec(), moved, now.Add(later)); v.Unhealthy() || v.Healthy() || v.In != health.DefaultStartupTimeout {
			t.Errorf("after %s: %s, in %s", later, v.Cause, v.In)
		}
	}
}

func TestMessageHasWhatAndSinceWhen(t *testing.T) {
	for want, v := range map[string]health.Assessment{
		"the condition Ready of the Machine's Node n has been False since 2026-11-21T11:00:00Z, for 5m0s or more": health.Of(spec(), target(broken), now),
		"the Machine's Node n is gone": health.Of(spec(), target(func(t *health.Target) { t.Node = nil }), now),
		"the Machine has failed: no such instance type": health.Of(spec(), target(func(t *health.Target) {
			t.Machine.Status.Phase, t.Machine.Status.ErrorMessage = new("Failed"), new("no such instance type")
		}), now),
		"the Machine has had no Node for 10m0s, counted from its creation or its last change of phase": health.Of(spec(), target(noNode(time.Hour)), now),
	} {
		if diff := cmp.Diff(want, v.Message); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMaxUnhealthy(t *testing.T) {
	for name, c := range map[string]struct {
		value   *intstr.IntOrString
		total   int
		want    int
		refused bool
	}{
		"absent is all":                       {total: 7, want: 7},
		"a number":                            {value: new(intstr.FromInt32(2)), total: 7, want: 2},
		"a number as text":                    {value: new(intstr.FromString("5")), total: 7, want: 5},
		"more than there are":                 {value: new(intstr.FromInt32(50)), total: 7, want: 50},
		"none":                                {value: new(intstr.FromInt32(0)), total: 7, want: 0},
		"no part":                             {value: new(intstr.FromString("0%")), total: 7, want: 0},
		"40% of 25 is 10":                     {value: new(intstr.FromString("40%")), total: 25, want: 10},
		"40% of 6 is rounded down to 2":       {value: new(intstr.FromString("40%")), total: 6, want: 2},
		"a share of too few is none":          {value: new(intstr.FromString("40%")), total: 2, want: 0},
		"all of them":                         {value: new(intstr.FromString("100%")), total: 6, want: 6},
		"more than all is all":                {value: new(intstr.FromString("250%")), total: 6, want: 6},
		"of nothing":                          {value: new(intstr.FromString("40%")), total: 0, want: 0},
		"a negative number":                   {value: new(intstr.FromInt32(-1)), refused: true},
		"a negative share":                    {value: new(intstr.FromString("-40%")), refused: true},
		"a fraction":                          {value: new(intstr.FromString("33.3%")), refused: true},
		"words":                               {value: new(intstr.FromString("most")), refused: true},
		"nothing":                             {value: new(intstr.FromString("")), refused: true},
		"a percent sign alone":                {value: new(intstr.FromString("%")), refused: true},
		"a sign":                              {value: new(intstr.FromString("+3")), refused: true},
		"a number that no computer counts to": {value: new(intstr.FromString("99999999999999999999%")), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := health.MaxUnhealthy(c.value, c.total)
			if got != c.want || (err != nil) != c.refused {
				t.Errorf("got %d and %v, want %d", got, err, c.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "spec.maxUnhealthy is ") {
				t.Errorf("the error does not name the field: %v", err)
			}
			_, judged := health.Judge(spec(func(s *machinev1beta1.MachineHealthCheckSpec) { s.MaxUnhealthy = c.value }), nil, now, nil)
			if (judged != nil) != c.refused {
				t.Errorf("judging says %v", judged)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	type want struct {
		Expected, Healthy, Allowed int
		Restricted                 bool
		Remediate                  []string
		Spared                     map[string]string
		Next                       time.Duration
	}
	limit := func(value string) *machinev1beta1.MachineHealthCheckSpec {
		return spec(func(s *machinev1beta1.MachineHealthCheckSpec) { s.MaxUnhealthy = new(intstr.Parse(value)) })
	}
	templated := spec(func(s *machinev1beta1.MachineHealthCheckSpec) {
		s.RemediationTemplate = &corev1.ObjectReference{Kind: "RestartTemplate"}
	})
	migrating := func(t *health.Target) { t.Machine.Status.AuthoritativeAPI = "Migrating" }
	ofClusterAPI := func(t *health.Target) { t.Machine.Status.AuthoritativeAPI = "ClusterAPI" }
	mine := func(m *machinev1beta1.Machine) bool { return m.Status.AuthoritativeAPI != "ClusterAPI" }
	skipped := func(t *health.Target) { t.Machine.Annotations = map[string]string{health.SkipAnnotation: ""} }
	for name, c := range map[string]struct {
		spec *machinev1beta1.MachineHealthCheckSpec
		in   []health.Target
		mine func(*machinev1beta1.Machine) bool
		want want
	}{
		"no Machines at all": {},
		"all are healthy":    {in: []health.Target{target(), target()}, want: want{Expected: 2, Healthy: 2, Allowed: 2}},
		"one is not": {
			in: []health.Target{target(), target(broken)}, want: want{Expected: 2, Healthy: 1, Allowed: 1, Remediate: []string{"1"}}},
		"as many as maxUnhealthy allows": {
			spec: limit("2"), in: []health.Target{target(broken), target(), target(broken)},
			want: want{Expected: 3, Healthy: 1, Remediate: []string{"0", "2"}}},
		"one more than maxUnhealthy allows": {
			spec: limit("1"), in: []health.Target{target(broken), target(), target(broken)},
			want: want{Expected: 3, Healthy: 1, Restricted: true}},
		"maxUnhealthy 0 blocks all remediation": {
			spec: limit("0"), in: []health.Target{target(broken), target()}, want: want{Expected: 2, Healthy: 1, Restricted: true}},
		"maxUnhealthy 0 is no restriction while all are healthy": {spec: limit("0"), in: []health.Target{target()}, want: want{Expected: 1, Healthy: 1}},
		"those that start and those that go count as unhealthy, and are let be": {
			spec: limit("2"), in: []health.Target{target(noNode(time.Minute)), target(deleted), target(broken)},
			want: want{Expected: 3, Restricted: true, Next: 9 * time.Minute}},
		"the next moment is that of the first that is due": {
			in:   []health.Target{target(noNode(time.Minute)), target(condition("Ready", "False", 3*time.Minute)), target()},
			want: want{Expected: 3, Healthy: 1, Allowed: 1, Next: 2 * time.Minute}},
		"a Machine that is being deleted already": {
			in:   []health.Target{target(broken, deleted)},
			want: want{Expected: 1, Spared: map[string]string{"0": "the Machine is being deleted"}}},
		"a Machine that is being deleted is waited for by nobody": {
			in: []health.Target{target(noNode(time.Minute), deleted)}, want: want{Expected: 1}},
		"a Machine that nobody would replace": {
			in: []health.Target{target(broken, orphaned)}, want: want{Expected: 1, Spared: map[string]string{"0": "the Machine has no controller as its owner, so nothing would replace it"}}},
		"a Machine of the control plane that nobody would replace": {
			in: []health.Target{target(broken, orphaned, func(t *health.Target) {
				t.Machine.Labels = map[string]string{"machine.openshift.io/cluster-api-machine-role": "master"}
			})}, want: want{Expected: 1, Spared: map[string]string{"0": "the Machine has no controller as its owner, so nothing would replace it"}}},
		"a Machine of the control plane that a ControlPlaneMachineSet looks after": {
			in: []health.Target{target(broken, func(t *health.Target) {
				t.Machine.Labels = map[string]string{"machine.openshift.io/cluster-api-machine-role": "master"}
				t.Machine.OwnerReferences[0].Kind = "ControlPlaneMachineSet"
			})}, want: want{Expected: 1, Remediate: []string{"0"}}},
		"an owner that is no controller replaces nothing": {
			in:   []health.Target{target(broken, func(t *health.Target) { t.Machine.OwnerReferences[0].Controller = nil })},
			want: want{Expected: 1, Spared: map[string]string{"0": "the Machine has no controller as its owner, so nothing would replace it"}}},
		"a template repairs what nobody would replace": {
			spec: templated, in: []health.Target{target(broken, orphaned)}, want: want{Expected: 1, Remediate: []string{"0"}}},
		"a Machine that is to be left alone": {
			in:   []health.Target{target(broken, skipped)},
			want: want{Expected: 1, Spared: map[string]string{"0": "the Machine's annotation cluster.x-k8s.io/skip-remediation turns remediation off"}}},
		"a Machine that is marked counts as unhealthy": {
			spec: limit("1"), in: []health.Target{target(marked), target(broken)}, want: want{Expected: 2, Restricted: true}},
		"a Machine that is marked, and to be left alone": {
			in:   []health.Target{target(marked, func(t *health.Target) { t.Machine.Annotations[health.SkipAnnotation] = "" })},
			want: want{Expected: 1, Spared: map[string]string{"0": "the Machine's annotation cluster.x-k8s.io/skip-remediation turns remediation off"}}},
		"a Machine that is marked, and that nobody would replace": {
			in:   []health.Target{target(marked, orphaned)},
			want: want{Expected: 1, Spared: map[string]string{"0": "the Machine has no controller as its owner, so nothing would replace it"}}},
		"a Machine whose authority moves, until it has settled": {
			in: []health.Target{target(broken, migrating)},
			want: want{Expected: 1, Spared: map[string]string{
				"0": "the Machine is migrating from one API to the other, and a deletion would delay the migration"}}},
		"a Machine for which Cluster API is authoritative is remediated like any other": {
			in: []health.Target{target(broken, ofClusterAPI)}, want: want{Expected: 1, Remediate: []string{"0"}}},
		"only the caller's own are remediated": {
			in: []health.Target{target(broken, ofClusterAPI), target(broken), target()}, mine: mine,
			want: want{Expected: 3, Healthy: 1, Allowed: 1, Remediate: []string{"1"}}},
		"the others count": {
			spec: limit("1"), in: []health.Target{target(broken, ofClusterAPI), target(broken), target()}, mine: mine,
			want: want{Expected: 3, Healthy: 1, Restricted: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.spec == nil {
				c.spec = spec()
			}
			for i, in := range c.in {
				in.Machine.Name = fmt.Sprint(i)
			}
			j, err := health.Judge(c.spec, c.in, now, c.mine)
			if err != nil {
				t.Fatal(err)
			}
			got := want{Expected: j.Expected, Healthy: j.Healthy, Allowed: j.Allowed(), Restricted: j.Restricted(), Next: j.Next}
			for _, v := range j.Remediate {
				got.Remediate = append(got.Remediate, v.Machine.Name)
			}
			for _, v := range j.Assessments {
				if v.Spared != "" {
					got.Spared = map[string]string{v.Machine.Name: v.Spared}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRestrictionIsASentenceWithItsNumbers(t *testing.T) {
	s := spec(func(s *machinev1beta1.MachineHealthCheckSpec) { s.MaxUnhealthy = new(intstr.FromString("40%")) })
	j, err := health.Judge(s, []health.Target{target(broken), target(deleted), target()}, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "Remediation is not allowed: 2 of 3 Machines are unhealthy, starting or being deleted, and spec.maxUnhealthy allows 1"
	if diff := cmp.Diff(want, j.Restriction()); diff != "" {
		t.Error(diff)
	}
}
