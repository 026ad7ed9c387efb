// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/test/stories"
)

// disorder is a control plane with whatever may have befallen it.
func disorder(r *rand.Rand) (*controlplane.View, []string) {
	v := world()
	var did []string
	for _, one := range []struct {
		contains string
		do       change
	}{
		{"c-master-2 is gone", without(2)}, // before what goes by the place in the list
		{"a second at 0, ready", with("c-master-x-0", "a", false)},
		{"a second at 1, young", with("c-master-y-1", "b", true)},
		{"a third at 1, ready", with("cp-east-1", "b", false)},
		{"one without a number", with("anna", "c", false)},
		{"larger", larger},
		{"another at 0, of the larger size", with("c-master-z-0", "a", false)},
		{"c-master-0 is being deleted", on(0, going)},
		{"c-master-1 is being deleted", on(1, going)},
		{"c-master-1 has no Node", dangling(1)},
		{"the last has failed", func(v *controlplane.View) { failed(&v.Machines[len(v.Machines)-1]) }},
		{"a label", func(v *controlplane.View) { template(v).ObjectMeta.Labels["team"] = "x" }},
		{"other zones", func(v *controlplane.View) { template(v).FailureDomains.AWS = zones("d", "b", "a") }},
		{"c-master-0 is not adopted", on(0, nobodys)},
		{"c-master-1 moves", on(1, ruledBy(machinev1beta1.MachineAuthorityMigrating))},
		{"a person's at 2", func(v *controlplane.View) {
			with("mine-2", "c", false)(v)
			nobodys(&v.Machines[len(v.Machines)-1])
		}},
	} {
		if r.IntN(4) == 0 {
			one.do(v)
			did = append(did, one.contains)
		}
	}
	how := []machinev1.ControlPlaneMachineSetStrategyType{machinev1.RollingUpdate, machinev1.RollingUpdate, machinev1.OnDelete, machinev1.Recreate}[r.IntN(4)]
	v.Set.Spec.Strategy.Type = how
	return v, append(did, string(how))
}

// happens plays a set for what it does, pass by pass: what is made becomes ready later, and what is deleted goes later, when the set has
// nothing more to do. It lists what is made and deleted.
func happens(t *testing.T, v *controlplane.View) []string {
	t.Helper()
	var out []string
	made := map[string]string{}
	for range 200 {
		p := controlplane.Make(*v)
		acted := false
		for _, s := range p.Steps() {
			switch s.Verb {
			case controlplane.Create:
				name := fmt.Sprintf("c-master-mad%c%c-%d", 'a'+len(made)/26, 'a'+len(made)%26, s.Index.Number)
				made[name] = fmt.Sprintf("made at %d", s.Index.Number)
				v.Machines = append(v.Machines, machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{
					Name: name, CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(len(made)) * time.Minute)),
					Labels: template(v).ObjectMeta.Labels, OwnerReferences: world().Machines[0].OwnerReferences, Annotations: map[string]string{controlplane.MadeFromAnnotation: "x"},
				}, Spec: machinev1beta1.MachineSpec{ProviderSpec: of(s.Index.Spec)}})
				out, acted = append(out, fmt.Sprintf("Create at %d", s.Index.Number)), true
			case controlplane.Delete:
				for i := range v.Machines {
					if v.Machines[i].Name == s.Machine.Name {
						going(&v.Machines[i])
					}
				}
				name := s.Machine.Name
				if made[name] != "" {
					name = made[name]
				}
				out, acted = append(out, "Delete "+name), true
			case controlplane.Adopt:
				i := slices.IndexFunc(v.Machines, func(m machinev1beta1.Machine) bool { return m.Name == s.Machine.Name })
				v.Machines[i].OwnerReferences = world().Machines[0].OwnerReferences
			case controlplane.Amend:
			}
		}
		if !acted && !comesToPass(v, p) {
			return out
		}
	}
	t.Fatal("no end")
	return nil
}

// comesToPass lets one thing happen that is not the set's: a Machine's move ends, or it becomes ready, or goes, first those whose index has another that is
// ready.
func comesToPass(v *controlplane.View, p controlplane.Plan) bool {
	at := func(name string) int {
		return slices.IndexFunc(v.Machines, func(m machinev1beta1.Machine) bool { return m.Name == name })
	}
	gone := func(name string) {
		v.Nodes = slices.DeleteFunc(v.Nodes, func(n corev1.Node) bool {
			ref := v.Machines[at(name)].Status.NodeRef
			return ref != nil && n.Name == ref.Name
		})
		v.Machines = slices.Delete(v.Machines, at(name), at(name)+1)
	}
	for _, m := range all(p) {
		if m.Machine().Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityMigrating {
			v.Machines[at(m.Name)].Status.AuthoritativeAPI = ""
			return true
		}
		if !m.Deleting && !m.Failed && m.Machine().Status.NodeRef == nil {
			phase := "Running"
			v.Machines[at(m.Name)].Status = machinev1beta1.MachineStatus{Phase: &phase, NodeRef: &corev1.ObjectReference{Name: m.Name}}
			v.Nodes = append(v.Nodes, node(m.Name))
			return true
		}
	}
	for _, i := range p.Indexes {
		for _, m := range i.Machines {
			if m.Deleting && slices.ContainsFunc(i.Machines, func(m controlplane.MachineState) bool { return m.Ready }) {
				gone(m.Name)
				return true
			}
		}
	}
	for _, m := range all(p) {
		if m.Deleting {
			gone(m.Name)
			return true
		}
	}
	return false
}

func all(p controlplane.Plan) []controlplane.MachineState {
	var out []controlplane.MachineState
	for _, i := range p.Indexes {
		out = append(out, i.Machines...)
	}
	return out
}

// foretold is what a future says of it, in the same words.
func foretold(f controlplane.Future) []string {
	var out []string
	for _, m := range f.Moments {
		switch {
		case m.Waits != "":
		case m.Verb == controlplane.Create:
			out = append(out, fmt.Sprintf("Create at %d", m.Index.Number))
		case m.Verb == controlplane.Delete:
			name := m.Name
			if strings.Contains(name, "xxxxx") {
				name = fmt.Sprintf("made at %d", m.Index.Number)
			}
			out = append(out, "Delete "+name)
		}
	}
	return out
}

// What is forecast is what happens, in the same order. It has every Machine that is created or deleted, and "nothing" only if nothing happens.
func TestWhatIsForecastHappens(t *testing.T) {
	seed := conversiontest.Seed(t)
	r := rand.New(rand.NewPCG(seed, 3))
	deletions, still := 0, 0
	for range stories.Times(10, 40) {
		v, did := disorder(r)
		p := controlplane.Make(*v)
		text, will := strings.Join(p.Forecast(), "\n"), controlplane.Ahead(*v)
		does := happens(t, v)
		if d := cmp.Diff(foretold(will), does); d != "" {
			t.Fatalf("%v: forecast and what happens (-forecast +happens):\n%s\n%s", did, d, text)
		}
		for _, what := range does {
			name, deletion := strings.CutPrefix(what, "Delete ")
			if deletion {
				deletions++
				if v.Set.Spec.Strategy.Type == machinev1.OnDelete {
					t.Fatalf("%v: OnDelete, and nobody deleted %s:\n%s", did, name, text)
				}
				if strings.HasPrefix(name, "mine") && !slices.Contains(did, "c-master-2 is gone") {
					t.Fatalf("%v: a person's Machine is deleted beside another:\n%s", did, text)
				}
			}
			if deletion && !strings.HasPrefix(name, "made") && !strings.Contains(text, name) {
				t.Fatalf("%v: %s is deleted, and nobody was told:\n%s", did, name, text)
			}
		}
		if len(does) == 0 {
			still++
		} else if strings.Contains(text, " do nothing until") || strings.Contains(text, " do nothing:") {
			t.Fatalf("%v: %v, and told was %q", did, does, text)
		}
		for _, i := range p.Indexes {
			// A Machine without a number takes another index when that is free.
			given := strings.Contains(text, fmt.Sprintf("at index %d", i.Number)) || strings.Contains(text, "anna (") ||
				slices.ContainsFunc(i.Machines, func(m controlplane.MachineState) bool { return strings.Contains(text, m.Name) })
			if slices.Contains(does, fmt.Sprintf("Create at %d", i.Number)) && !given {
				t.Fatalf("%v: one is made at %d, and nobody was told:\n%s", did, i.Number, text)
			}
		}
	}
	if deletions == 0 || still == 40 {
		t.Errorf("%d deletions, %d worlds at rest: not much was seen", deletions, still)
	}
}

func TestForecastsOfWhatIsNotReplaced(t *testing.T) {
	named := func(i int, name string) change {
		return func(v *controlplane.View) {
			v.Machines[i].Name, v.Nodes[i].Name, v.Machines[i].Status.NodeRef.Name = name, name, name
		}
	}
	for text, c := range map[string]struct {
		do   []change
		want []string
	}{
		"a second Machine at an index": {do: []change{with("c-master-x-0", "a", false)}, want: []string{
			"this will delete 1 of 4 control plane Machines, and create none in its place: c-master-x-0 (index 0 has c-master-0 already)"}},
		"two that end with the same number by chance": {do: []change{named(0, "cp-east-1"), named(1, "cp-west-1")}, want: []string{
			"this will delete 1 of 3 control plane Machines, and create none in its place: cp-east-1 (its replacement is cp-west-1)",
			"this will create 1 control plane Machine: at index 0 in a"}},
		"one that was replaced, and the rest to be": {do: []change{larger, with("c-master-x-0", "a", false)}, want: []string{
			"this will delete 1 of 4 control plane Machines, and create none in its place: c-master-0 (its replacement is c-master-x-0)",
			"this will replace 2 of 3 control plane Machines, one at a time: c-master-1 (instanceType m6i.xlarge → m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"}},
		"one that is outdated too": {do: []change{with("c-master-x-0", "a", true), larger}, want: []string{
			"this will delete 1 of 4 control plane Machines, and create none in its place: c-master-x-0 (it is outdated (instanceType m6i.xlarge → m6i.2xlarge). " +
				"c-master-0 at the same index is outdated too, so this Machine is not needed)",
			"this will replace 3 of 3 control plane Machines, one at a time: c-master-0 (instanceType m6i.xlarge → m6i.2xlarge), c-master-1 (instanceType m6i.xlarge → m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"}},
		"OnDelete in mid-rollout": {do: []change{larger, with("c-master-x-0", "a", false), strategy("OnDelete")}, want: []string{
			"this will replace no Machine by itself (strategy OnDelete): 2 of 3 control plane Machines are outdated, and each is replaced once you delete it: c-master-1 (instanceType m6i.xlarge → m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)",
			"this will delete no Machine by itself (strategy OnDelete); delete the Machines that are no longer needed: c-master-0 (its replacement is c-master-x-0)"}},
		"OnDelete, and one is outdated": {do: []change{domains("a", "b", "d"), strategy("OnDelete")}, want: []string{
			"this will replace no Machine by itself (strategy OnDelete): 1 of 3 control plane Machines is outdated, and is replaced once you delete it: c-master-2 (placement.availabilityZone c → d, subnet.id subnet-c → subnet-d)"}},
		"a Machine that moves": {do: []change{larger, on(2, ruledBy("Migrating")), without(0), without(0)}, want: []string{
			"this will create 2 control plane Machines: at index 0 in a, at index 1 in b",
			"this will replace 1 of 3 control plane Machines, one at a time: c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"}},
	} {
		t.Run(text, func(t *testing.T) {
			v := world()
			for _, do := range c.do {
				do(v)
			}
			p := controlplane.Make(*v)
			if d := cmp.Diff(c.want, p.Forecast()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestMachinesWithoutANumberKeepTheirIndexes: a replacement has the number of its index. The Machines beside the one that it replaces stay where they are.
func TestMachinesWithoutANumberKeepTheirIndexes(t *testing.T) {
	names := []string{"east", "north", "west"}
	control := func(do ...func(*controlplane.View)) *controlplane.View {
		v := world()
		for i, name := range names {
			v.Machines[i].Name, v.Machines[i].UID = name, types.UID(name)
		}
		for _, f := range do {
			f(v)
		}
		return v
	}
	for i := range names {
		v := control(on(i, going))
		if got, want := foretold(controlplane.Ahead(*v)), []string{fmt.Sprintf("Create at %d", i)}; !slices.Equal(got, want) {
			t.Errorf("%s is deleted: %q, want %q", names[i], got, want)
		}
	}
	var want []string
	for i, name := range names {
		want = append(want, fmt.Sprintf("Create at %d", i), "Delete "+name)
	}
	if got := foretold(controlplane.Ahead(*control(larger))); !slices.Equal(got, want) {
		t.Errorf("the template changes: %q, want %q", got, want)
	}
}

// TestARebalanceMovesNoMoreThanItMust: of three Machines in one of three zones one stays. The one that is being deleted or replaced anyway is among those that
// move.
func TestARebalanceMovesNoMoreThanItMust(t *testing.T) {
	old := func(i int) change {
		return on(i, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "keyName", "old") })
	}
	for text, c := range map[string]struct {
		do   []change
		want []string
	}{
		"the first is being deleted":  {do: changes(on(0, going)), want: []string{"Create at 0", "Create at 2", "Delete c-master-2"}},
		"the second is being deleted": {do: changes(on(1, going)), want: []string{"Create at 1", "Create at 2", "Delete c-master-2"}},
		"the third is being deleted":  {do: changes(on(2, going)), want: []string{"Create at 2", "Create at 1", "Delete c-master-1"}},
		"the first is outdated":       {do: changes(old(0)), want: []string{"Create at 0", "Delete c-master-0", "Create at 2", "Delete c-master-2"}},
		"all are as they should be":   {want: []string{"Create at 1", "Delete c-master-1", "Create at 2", "Delete c-master-2"}},
	} {
		v := world()
		for _, do := range append(changes(inZones("a", "a", "a")), c.do...) {
			do(v)
		}
		if d := cmp.Diff(c.want, foretold(controlplane.Ahead(*v))); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
		if d := cmp.Diff(c.want, happens(t, v)); d != "" {
			t.Errorf("%s, what happens (-want +got):\n%s", text, d)
		}
	}
}

// TestAMachineThatNobodyReplaces: somebody gives a Machine of his own the labels of the control plane. No Machine was made in its place, and the set does not
// delete it.
func TestAMachineThatNobodyReplaces(t *testing.T) {
	v := world()
	own := running("own", "a", -1)
	own.OwnerReferences = nil
	v.Machines, v.Nodes = append(v.Machines, own), append(v.Nodes, node("own"))
	p := controlplane.Make(*v)
	if got := steps(p); len(got) > 0 || len(p.Problems) != 1 || p.Problems[0].Reason != controlplane.ExcessIndexes {
		t.Errorf("%q, %v", got, p.Problems)
	}
}

// TestAReboot: a Node that is not ready for less than the grace, as at a reboot, is not lost. Its Machine is neither given up nor taken away from etcd beside
// one that is.
func TestAReboot(t *testing.T) {
	reboots := func(i int) func(*controlplane.View) {
		return func(v *controlplane.View) {
			v.NotReadyGrace = controlplane.NotReadyGrace
			v.Nodes[i].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse,
				LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute))}}
		}
	}
	takenBack := func(v *controlplane.View) { // the template, while the first Machine was replaced
		with("c-master-abcde-0", "a", true)(v)
		edit(&v.Machines[3].Spec.ProviderSpec, "instanceType", "m6i.2xlarge")
		ready := node("c-master-abcde-0")
		v.Machines[3].Status, v.Nodes = running("c-master-abcde-0", "a", 9).Status, append(v.Nodes, ready)
	}
	for about, c := range map[string]struct {
		do   []func(*controlplane.View)
		want []string
	}{
		"of the Machine to which a template was taken back": {[]func(*controlplane.View){takenBack, reboots(0)}, nil},
		"which has ended": {[]func(*controlplane.View){takenBack}, []string{"Delete c-master-abcde-0"}},
		"under Recreate, while another Machine is lost":           {[]func(*controlplane.View){larger, strategy(machinev1.Recreate), reboots(0), notReady(1)}, []string{"Delete c-master-1"}},
		"under Recreate, of a Machine that is outdated":           {[]func(*controlplane.View){larger, strategy(machinev1.Recreate), reboots(0)}, nil},
		"under Recreate: a Machine that has been lost goes first": {[]func(*controlplane.View){larger, strategy(machinev1.Recreate), notReady(1)}, []string{"Delete c-master-1"}},
	} {
		v := world()
		for _, do := range c.do {
			do(v)
		}
		if got := steps(controlplane.Make(*v)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", about, got, c.want)
		}
	}
}
