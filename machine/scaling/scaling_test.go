// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package scaling_test

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
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/machine/scaling"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func set(replicas int32, edits ...func(*machinev1beta1.MachineSet)) *machinev1beta1.MachineSet {
	s := &machinev1beta1.MachineSet{
		ObjectMeta: metav1.ObjectMeta{Name: "set", UID: "set"},
		Spec:       machinev1beta1.MachineSetSpec{Replicas: &replicas, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"set": "a"}}},
	}
	s.Spec.Template.Labels = map[string]string{"set": "a", "more": "b"}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func policy(p string) func(*machinev1beta1.MachineSet) {
	return func(s *machinev1beta1.MachineSet) { s.Spec.DeletePolicy = p }
}

// machine is one of the set's, an hour old, with a Node; edits change it.
func machine(name string, edits ...func(*machinev1beta1.Machine)) *machinev1beta1.Machine {
	m := &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), Labels: map[string]string{"set": "a", "more": "b"}, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
			OwnerReferences: []metav1.OwnerReference{{Kind: "MachineSet", Name: "set", UID: "set", Controller: new(true)}},
		},
		Status: machinev1beta1.MachineStatus{Phase: new("Running"), NodeRef: &corev1.ObjectReference{Name: name}},
	}
	for _, edit := range edits {
		edit(m)
	}
	return m
}

func aged(d time.Duration) func(*machinev1beta1.Machine) {
	return func(m *machinev1beta1.Machine) { m.CreationTimestamp = metav1.NewTime(now.Add(-d)) }
}

func marked(name, value string) func(*machinev1beta1.Machine) {
	return func(m *machinev1beta1.Machine) { m.Annotations = map[string]string{name: value} }
}

func label(name, value string) func(*machinev1beta1.Machine) {
	return func(m *machinev1beta1.Machine) { m.Labels[name] = value }
}

func of(spec, status machinev1beta1.MachineAuthority) func(*machinev1beta1.Machine) {
	return func(m *machinev1beta1.Machine) { m.Spec.AuthoritativeAPI, m.Status.AuthoritativeAPI = spec, status }
}

func orphaned(m *machinev1beta1.Machine) { m.OwnerReferences = nil }
func anothers(m *machinev1beta1.Machine) { m.OwnerReferences[0].UID = "other" }
func deleted(m *machinev1beta1.Machine)  { m.DeletionTimestamp = &metav1.Time{Time: now} }
func noNode(m *machinev1beta1.Machine)   { m.Status.NodeRef = nil }
func failed(m *machinev1beta1.Machine)   { m.Status.Phase = new("Failed") }
func erring(m *machinev1beta1.Machine)   { m.Status.ErrorMessage = new("out of luck") }

func names(machines []*machinev1beta1.Machine) []string {
	var out []string
	for _, m := range machines {
		out = append(out, m.Name)
	}
	return out
}

func TestPlan(t *testing.T) {
	type machines = []*machinev1beta1.Machine
	type want struct {
		Members, Adopt, Delete []string
		Create                 int
	}
	for name, c := range map[string]struct {
		set    *machinev1beta1.MachineSet
		in     machines
		shared []string // those that another set selects too
		want   want
	}{
		"those that another set selects too are no surplus": {
			set: set(1), in: machines{machine("a"), machine("b", orphaned), machine("c", orphaned)}, shared: []string{"b", "c"},
			want: want{Members: []string{"a"}}},
		"those that another set selects too are taken in as far as some are missing, the oldest first": {
			set: set(3), in: machines{machine("a"), machine("b", orphaned), machine("c", orphaned, aged(2*time.Hour)), machine("d", orphaned, aged(3*time.Hour))},
			shared: []string{"b", "c", "d"}, want: want{Members: []string{"a", "d", "c"}, Adopt: []string{"d", "c"}}},
		"what is missing beside them is made": {
			set: set(4), in: machines{machine("a"), machine("b", orphaned)}, shared: []string{"b"},
			want: want{Members: []string{"a", "b"}, Adopt: []string{"b"}, Create: 2}},
		"those that no other set selects come before": {
			set: set(2), in: machines{machine("a"), machine("b", orphaned), machine("c", orphaned)}, shared: []string{"b"},
			want: want{Members: []string{"a", "c"}, Adopt: []string{"c"}}},
		"an empty set makes all its Machines":        {set: set(3), want: want{Create: 3}},
		"a set that does not say has one":            {set: set(0, func(s *machinev1beta1.MachineSet) { s.Spec.Replicas = nil }), want: want{Create: 1}},
		"a set that is at its number does nothing":   {set: set(1), in: machines{machine("a")}, want: want{Members: []string{"a"}}},
		"one that is missing is made":                {set: set(2), in: machines{machine("a")}, want: want{Members: []string{"a"}, Create: 1}},
		"one that is being deleted counts no more":   {set: set(1), in: machines{machine("a", deleted)}, want: want{Create: 1}},
		"one that failed counts: a check removes it": {set: set(1), in: machines{machine("a", failed)}, want: want{Members: []string{"a"}}},
		"one for which Cluster API is authoritative counts, and goes like any other": {
			set: set(0), in: machines{machine("a", of("ClusterAPI", "ClusterAPI"))}, want: want{Members: []string{"a"}, Delete: []string{"a"}}},
		"one whose label was changed is replaced, and not let go": {
			set: set(1), in: machines{machine("a", label("set", "b"))}, want: want{Create: 1}},
		"one that matches and is nobody's is taken in": {
			set: set(2), in: machines{machine("a"), machine("b", orphaned)}, want: want{Members: []string{"a", "b"}, Adopt: []string{"b"}}},
		"one that does not match is not taken in": {
			set: set(1), in: machines{machine("a"), machine("b", orphaned, label("set", "b"))}, want: want{Members: []string{"a"}}},
		"one that is another's is not touched": {set: set(1), in: machines{machine("a"), machine("b", anothers)}, want: want{Members: []string{"a"}}},
		"one that is on its way out is not taken in": {
			set: set(1), in: machines{machine("a", orphaned, deleted)}, want: want{Create: 1}},
		"one too many that is nobody's is taken in, and goes if it is the one to go": {
			set: set(1, policy("Oldest")), in: machines{machine("a"), machine("b", orphaned, aged(2*time.Hour))},
			want: want{Members: []string{"a", "b"}, Adopt: []string{"b"}, Delete: []string{"b"}}},
		"one that is nobody's and Cluster API's counts, but is neither taken in nor deleted": {
			set: set(1), in: machines{machine("a", orphaned, of("ClusterAPI", "ClusterAPI"))}, want: want{Members: []string{"a"}}},
		"one that is nobody's and Cluster API's has none of the set's deleted in its place": {
			set: set(1), in: machines{machine("a"), machine("b", orphaned, of("ClusterAPI", "ClusterAPI"))}, want: want{Members: []string{"a", "b"}}},
		"one too many goes beside it": {
			set: set(1, policy("Oldest")), in: machines{machine("a", aged(time.Hour)), machine("b", orphaned, of("ClusterAPI", "ClusterAPI")), machine("c")},
			want: want{Members: []string{"a", "b", "c"}, Delete: []string{"a"}}},
		"one that is nobody's and moves is taken in when it has settled": {
			set: set(1), in: machines{machine("a", orphaned, of("MachineAPI", "Migrating"))}, want: want{Members: []string{"a"}}},
		"one that is nobody's and to be Cluster API's from birth": {
			set: set(1), in: machines{machine("a", orphaned, of("ClusterAPI", ""))}, want: want{Members: []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			selector, err := scaling.Selector(c.set)
			if err != nil {
				t.Fatal(err)
			}
			p := scaling.PlanFor(c.set, selector, c.in, func(m *machinev1beta1.Machine) bool { return slices.Contains(c.shared, m.Name) }, "seed")
			got := want{names(p.Members), names(p.Adopt), names(p.Delete), p.Create}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if idle := len(c.want.Adopt)+len(c.want.Delete)+c.want.Create == 0; p.Idle() != idle {
				t.Errorf("idle: %t", p.Idle())
			}
		})
	}
}

func TestWhoGoesFirst(t *testing.T) {
	type machines = []*machinev1beta1.Machine
	young, old := aged(time.Minute), aged(48*time.Hour)
	for name, c := range map[string]struct {
		policy string
		in     machines
		want   []string
	}{
		"the newest, under Newest": {policy: "Newest", in: machines{machine("a", old), machine("b", young), machine("c")}, want: []string{"b", "c", "a"}},
		"the oldest, under Oldest": {policy: "Oldest", in: machines{machine("a"), machine("b", old), machine("c", young)}, want: []string{"b", "a", "c"}},
		"one that is marked goes before one that failed, under each policy": {
			policy: "Newest", in: machines{machine("a", young), machine("b", failed), machine("c", old, marked(scaling.DeleteAnnotation, "true"))},
			want: []string{"c", "b", "a"}},
		"the older mark counts too": {
			policy: "Oldest", in: machines{machine("a", old), machine("b", marked(scaling.OldDeleteAnnotation, "yes"))}, want: []string{"b", "a"}},
		"a mark without a value counts, as in Cluster API": {
			policy: "Oldest", in: machines{machine("a", old), machine("b", marked(scaling.DeleteAnnotation, ""))}, want: []string{"b", "a"}},
		"one with an error is unhealthy": {policy: "Oldest", in: machines{machine("a", old), machine("b", erring)}, want: []string{"b", "a"}},
		"of those that are marked, the policy decides": {
			policy: "Oldest", in: machines{machine("a", marked(scaling.DeleteAnnotation, "")), machine("b", old, marked(scaling.DeleteAnnotation, ""))},
			want: []string{"b", "a"}},
		"one without a Node, under Random":         {in: machines{machine("a"), machine("b", noNode), machine("c", failed)}, want: []string{"c", "b", "a"}},
		"but the oldest all the same under Oldest": {policy: "Oldest", in: machines{machine("a"), machine("b", noNode, young)}, want: []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := set(0, policy(c.policy))
			selector, err := scaling.Selector(s)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if diff := cmp.Diff(c.want, names(scaling.PlanFor(s, selector, c.in, nil, "seed").Delete)); diff != "" {
					t.Error(diff)
				}
				slices.Reverse(c.in)
			}
		})
	}
}

func TestRandomIsDecidedByTheSeedAlone(t *testing.T) {
	var machines []*machinev1beta1.Machine
	for i := range 30 {
		machines = append(machines, machine(fmt.Sprint("m", i)))
	}
	s := set(20)
	selector, err := scaling.Selector(s)
	if err != nil {
		t.Fatal(err)
	}
	one := names(scaling.PlanFor(s, selector, machines, nil, "one").Delete)
	slices.Reverse(machines)
	if diff := cmp.Diff(one, names(scaling.PlanFor(s, selector, machines, nil, "one").Delete)); diff != "" {
		t.Errorf("the order of the Machines decides: %s", diff)
	}
	if two := names(scaling.PlanFor(s, selector, machines, nil, "two").Delete); slices.Equal(one, two) {
		t.Errorf("another seed chooses the same: %v", two)
	}
	if len(one) != 10 {
		t.Errorf("%d are deleted, want 10", len(one))
	}
}

func TestSelector(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*machinev1beta1.MachineSet)
		want []string // what the error names, nothing for none
	}{
		"a set as it should be": {edit: func(*machinev1beta1.MachineSet) {}},
		"no replicas is 1":      {edit: func(s *machinev1beta1.MachineSet) { s.Spec.Replicas = nil }},
		"no policy is Random":   {edit: policy("")},
		"an empty selector":     {edit: func(s *machinev1beta1.MachineSet) { s.Spec.Selector = metav1.LabelSelector{} }, want: []string{"spec.selector is empty"}},
		"a selector that is no selector": {edit: func(s *machinev1beta1.MachineSet) {
			s.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Perhaps"}}
		}, want: []string{"spec.selector cannot be read"}},
		"labels that no selector can name": {edit: func(s *machinev1beta1.MachineSet) { s.Spec.Selector.MatchLabels["set"] = "a b" }, want: []string{"spec.selector cannot be read"}},
		"a template that does not match":   {edit: func(s *machinev1beta1.MachineSet) { s.Spec.Template.Labels = nil }, want: []string{"spec.template.metadata.labels do not match spec.selector (set=a)"}},
		"fewer than none":                  {edit: func(s *machinev1beta1.MachineSet) { *s.Spec.Replicas = -1 }, want: []string{"spec.replicas is -1"}},
		"a policy that there is not":       {edit: policy("Cheapest"), want: []string{`spec.deletePolicy is "Cheapest"`}},
		"all at once": {edit: func(s *machinev1beta1.MachineSet) {
			*s.Spec.Replicas, s.Spec.DeletePolicy, s.Spec.Template.Labels = -1, "Cheapest", nil
		}, want: []string{"spec.template.metadata.labels", "spec.replicas", "spec.deletePolicy"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := scaling.Selector(set(1, c.edit))
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestCount(t *testing.T) {
	ready := func(status corev1.ConditionStatus, since time.Duration) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: "DiskPressure", Status: "False"}, {Type: "Ready", Status: status, LastTransitionTime: metav1.NewTime(now.Add(-since))}}}}
	}
	slow := func(s *machinev1beta1.MachineSet) { s.Spec.MinReadySeconds = 60 }
	for name, c := range map[string]struct {
		edit  func(*machinev1beta1.MachineSet)
		nodes map[string]*corev1.Node
		in    []*machinev1beta1.Machine
		want  scaling.Numbers
	}{
		"no Machines": {},
		"one without a Node": {
			in: []*machinev1beta1.Machine{machine("a", noNode)}, want: scaling.Numbers{Replicas: 1, FullyLabeled: 1}},
		"one whose Node is gone": {
			in: []*machinev1beta1.Machine{machine("a")}, want: scaling.Numbers{Replicas: 1, FullyLabeled: 1}},
		"one that lacks a label of the template": {
			in: []*machinev1beta1.Machine{machine("a", label("more", "c"))}, want: scaling.Numbers{Replicas: 1}},
		"one whose Node is not ready": {
			nodes: map[string]*corev1.Node{"a": ready("Unknown", time.Hour)},
			in:    []*machinev1beta1.Machine{machine("a")}, want: scaling.Numbers{Replicas: 1, FullyLabeled: 1}},
		"one that is ready is available at once, also by a clock that is ahead": {
			nodes: map[string]*corev1.Node{"a": ready("True", -time.Minute)},
			in:    []*machinev1beta1.Machine{machine("a")}, want: scaling.Numbers{Replicas: 1, FullyLabeled: 1, Ready: 1, Available: 1}},
		"one that has not been ready for long enough": {
			edit: slow, nodes: map[string]*corev1.Node{"a": ready("True", 20*time.Second)},
			in: []*machinev1beta1.Machine{machine("a")}, want: scaling.Numbers{Replicas: 1, FullyLabeled: 1, Ready: 1, Next: 40 * time.Second}},
		"one that has been ready for just long enough": {
			edit: slow, nodes: map[string]*corev1.Node{"a": ready("True", time.Minute)},
			in: []*machinev1beta1.Machine{machine("a")}, want: scaling.Numbers{Replicas: 1, FullyLabeled: 1, Ready: 1, Available: 1}},
		"of several, the next moment is the first": {
			edit: slow, nodes: map[string]*corev1.Node{"a": ready("True", 0), "b": ready("True", 50*time.Second), "c": ready("True", time.Hour)},
			in:   []*machinev1beta1.Machine{machine("a"), machine("b"), machine("c")},
			want: scaling.Numbers{Replicas: 3, FullyLabeled: 3, Ready: 3, Available: 1, Next: 10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			s := set(1)
			if c.edit != nil {
				c.edit(s)
			}
			got := scaling.Count(s, c.in, func(name string) *corev1.Node { return c.nodes[name] }, now)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
