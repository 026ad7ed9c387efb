// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"time"

	"github.com/poundlock/poundlock/test/stories"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/simulation"
)

// The first story that needs the control plane raises it. It stays: the stories after that are played beside it.
var raised = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return stage.RaiseControlPlane(ctx, 3)
})

func controlPlaneSet() object {
	return object{mapi, "controlplanemachinesets.machine.openshift.io", "cluster"}
}

func clusterOperator() object {
	return object{"", "clusteroperators.config.openshift.io", "control-plane-machine-set"}
}

// controlPlane begins a story of the control plane, and returns its set. The set has been generated, and is active if `active` is true.
func controlPlane(t *testing.T, active bool) object {
	t.Helper()
	story(t)
	if err := raised(); err != nil {
		t.Fatal(err)
	}
	set := controlPlaneSet()
	eventually(t, "a set is generated", func() string { return field(t, set, ".metadata.name") }, "cluster")
	switch is := field(t, set, ".spec.state") == "Active"; {
	case active && !is:
		activate(t)
	case !active && is:
		must(t, append(set.args("delete"), "--wait=false")...)
		eventually(t, "an Inactive set comes back", func() string { return field(t, set, ".spec.state") }, "Inactive")
	}
	updated(t, 3)
	return set
}

func activate(t *testing.T) answer {
	t.Helper()
	return must(t, append(controlPlaneSet().args("patch"), "--type=merge", "-p", `{"spec":{"state":"Active"}}`)...)
}

// updated waits until n Machines follow the present template, and no Machine exists beside the three.
func updated(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d Machines are updated, and there are 3", n), numbers(t), fmt.Sprintf("replicas 3, ready 3, updated %d, unavailable 0", n))
}

// numbers returns the counts in the set's status, once the status is about the present spec.
func numbers(t *testing.T) func() string {
	return func() string {
		if seen, now := field(t, controlPlaneSet(), ".status.observedGeneration"), field(t, controlPlaneSet(), ".metadata.generation"); seen != now {
			return fmt.Sprintf("status is about generation %s, not %s", seen, now)
		}
		n := func(path string) string { return cmp.Or(field(t, controlPlaneSet(), ".status."+path), "0") }
		return fmt.Sprintf("replicas %s, ready %s, updated %s, unavailable %s", n("replicas"), n("readyReplicas"), n("updatedReplicas"), n("unavailableReplicas"))
	}
}

// reports returns the conditions of the ClusterOperator in one line.
func reports(t *testing.T) func() string {
	return func() string {
		var out []string
		for _, c := range []string{"Available", "Progressing", "Degraded", "Upgradeable"} {
			out = append(out, c+"="+condition(t, clusterOperator(), c))
		}
		return strings.Join(out, " ")
	}
}

const (
	atEase  = "Available=True Progressing=False Degraded=False Upgradeable=True"
	rolling = "Available=True Progressing=True Degraded=False Upgradeable=False"
)

// masters returns the control plane's Machines, sorted by the number at the end of their names.
func masters(t *testing.T) []machinev1beta1.Machine {
	t.Helper()
	all := &machinev1beta1.MachineList{}
	list(t, all, client.InNamespace(mapi), client.MatchingLabels{"machine.openshift.io/cluster-api-machine-role": "master"})
	slices.SortFunc(all.Items, func(a, b machinev1beta1.Machine) int { return cmp.Compare(index(a.Name), index(b.Name)) })
	return all.Items
}

func names(all []machinev1beta1.Machine) (out []string) {
	for _, m := range all {
		out = append(out, m.Name)
	}
	return out
}

// index returns what follows the last dash of a name.
func index(name string) string { return name[strings.LastIndex(name, "-")+1:] }

// ledger marks a moment in the cloud's record of launches and calls.
type ledger struct{ launches, calls int }

func opened() ledger { return ledger{len(stage.Cloud.Instances()), len(stage.Cloud.Ledger())} }

// rolled checks the cloud's calls since that moment. n instances were launched and n terminated, each by the API `by`. They were replaced one after the other,
// so that there was never more than one beside the three. Each is in the zone of its index, and of the given size.
func (l ledger) rolled(t *testing.T, n int, by, size string) {
	t.Helper()
	var launched, ended []machinetest.Instance
	all := slices.DeleteFunc(stage.Cloud.Instances(), func(i machinetest.Instance) bool { return !strings.Contains(i.Machine.Name, "master-") })
	fresh := stage.Cloud.Instances()[l.launches:]
	for _, i := range all {
		if slices.ContainsFunc(fresh, func(f machinetest.Instance) bool { return f.ID == i.ID }) {
			launched = append(launched, i)
		}
	}
	if len(launched) == 0 {
		t.Fatalf("no instance was launched, want %d", n)
	}
	for _, i := range all {
		if !i.Ended.IsZero() && i.Ended.After(launched[0].Launched) {
			ended = append(ended, i)
		}
	}
	if len(launched) != n || len(ended) != n {
		t.Errorf("%d instances were launched and %d ended, want %d of each", len(launched), len(ended), n)
	}
	zones := map[string]string{"0": "us-east-1a", "1": "us-east-1b", "2": "us-east-1c"}
	for _, i := range launched {
		if string(i.CreatedBy) != by || i.Type != size || i.Zone != zones[index(i.Machine.Name)] {
			t.Errorf("%s: launched by %s as %s in %s, want by %s as %s in %s", i.Machine.Name, i.CreatedBy, i.Type, i.Zone, by, size, zones[index(i.Machine.Name)])
		}
	}
	alive(t, all, launched[0].Launched)
}

// ended checks which API terminated the instances that were terminated since that moment.
func (l ledger) ended(t *testing.T, by string) {
	t.Helper()
	for _, call := range stage.Cloud.Ledger()[l.calls:] {
		if call.Verb == machinetest.Terminate && strings.Contains(call.Machine.Name, "master-") && string(call.Caller) != by {
			t.Errorf("%s was ended by %s, want by %s", call.Machine.Name, call.Caller, by)
		}
	}
}

// alive checks that there were three or four instances at any time since some moment.
func alive(t *testing.T, all []machinetest.Instance, since time.Time) {
	t.Helper()
	for _, moment := range all {
		for _, at := range []time.Time{moment.Launched, moment.Ended} {
			if at.IsZero() || at.Before(since) {
				continue
			}
			n := 0
			for _, i := range all {
				if !i.Launched.After(at) && (i.Ended.IsZero() || i.Ended.After(at)) {
					n++
				}
			}
			if n < 3 || n > 4 {
				t.Errorf("when %s came or went, %d instances were alive", moment.Machine.Name, n)
			}
		}
	}
}

// voting checks that etcd never had fewer than three members or more than four.
func voting(t *testing.T) {
	t.Helper()
	etcd, err := stage.Etcd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	most := slices.MaxFunc(etcd.History, func(a, b simulation.Joining) int { return cmp.Compare(a.Voting, b.Voting) }).Voting
	if fewest, _ := etcd.Fewest(3); fewest != 3 || most > 4 {
		t.Errorf("etcd had %d members, and %d: %v", fewest, most, etcd.History)
	}
	for _, m := range masters(t) {
		if m.Status.NodeRef == nil || !slices.Contains(etcd.Members, m.Status.NodeRef.Name) {
			t.Errorf("Machine %s does not vote: %v", m.Name, etcd.Members)
		}
	}
}

// owned returns the number of Machines whose controller is the set, or a sentence about a Machine that another object controls.
func owned(t *testing.T) string {
	t.Helper()
	n := 0
	for _, m := range masters(t) {
		if o := metav1.GetControllerOf(&m); o != nil && o.Kind == "ControlPlaneMachineSet" && string(o.UID) == field(t, controlPlaneSet(), ".metadata.uid") {
			n++
		} else if o != nil {
			return fmt.Sprintf("%s is owned by %s %s", m.Name, o.Kind, o.Name)
		}
	}
	return fmt.Sprint(n)
}

// warned expects exactly one warning, which begins with the given text.
func warned(t *testing.T, a answer, begins string) {
	t.Helper()
	if !slices.ContainsFunc(a.warnings(), func(w string) bool { return strings.HasPrefix(w, begins) }) {
		t.Errorf("no warning begins with %q: %q", begins, a.warnings())
	}
}

// resize requests another instance type, and returns kubectl's output.
func resize(t *testing.T, size string) answer {
	t.Helper()
	return must(t, append(controlPlaneSet().args("patch"), "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"template":{"machines_v1beta1_machine_openshift_io":{"spec":{"providerSpec":{"value":{"instanceType":%q}}}}}}}`, size))...)
}

// size returns the instance type that a Machine requests.
func size(t *testing.T, machine string) string {
	t.Helper()
	return field(t, mapiMachine(machine), ".spec.providerSpec.value.instanceType")
}

var generatedName = regexp.MustCompile(`^lock-7x2k9-master-[a-z0-9]{5}-[012]$`)

// control-plane-machine-set-controller › User Stories: the generated set is made Active, which changes nothing. Then its template asks for larger instances.
func TestAControlPlaneIsActivatedAndGrows(t *testing.T) {
	stories.Long(t)
	set := controlPlane(t, false)
	before, books := names(masters(t)), opened()
	eventually(t, "the ClusterOperator is at ease", reports(t), atEase)

	warned(t, activate(t), "this will do nothing: all 3 control plane Machines match the template")
	eventually(t, "the set owns its Machines", func() string { return owned(t) }, "3")
	updated(t, 3)
	if now := names(masters(t)); !slices.Equal(now, before) {
		t.Errorf("activation made %q of %q", now, before)
	}

	// No kubelet joins, so the rollout stops in its middle.
	if err := stage.StopSide(simulation.Infrastructure); err != nil {
		t.Fatal(err)
	}
	start := sync.OnceFunc(func() {
		if err := stage.StartSide(simulation.Infrastructure); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(start)
	var each []string
	for _, name := range before {
		each = append(each, name+" (instanceType "+size(t, name)+" → m6i.2xlarge)")
	}
	warned(t, resize(t, "m6i.2xlarge"), "this will replace 3 of 3 control plane Machines, one at a time: "+strings.Join(each, ", "))
	eventually(t, "the first replacement waits for its Node", numbers(t), "replicas 4, ready 3, updated 0, unavailable 0")
	eventually(t, "the ClusterOperator tells of a rollout", reports(t), rolling)
	start()

	updated(t, 3)
	eventually(t, "the ClusterOperator is at ease", reports(t), atEase)
	books.rolled(t, 3, "MachineAPI", "m6i.2xlarge")
	voting(t)
	for i, m := range masters(t) {
		if !generatedName.MatchString(m.Name) || index(m.Name) != fmt.Sprint(i) {
			t.Errorf("Machine %d is called %s", i, m.Name)
		}
	}
	if got := field(t, set, ".status.observedGeneration"); got != field(t, set, ".metadata.generation") {
		t.Errorf("status.observedGeneration is %s", got)
	}
}

// With OnDelete, a person decides when each Machine is deleted. Back on RollingUpdate, the others follow. The one that is not ready is the first, and even that
// is deleted only once its replacement is ready.
func TestAControlPlaneIsReplacedByHand(t *testing.T) {
	stories.Long(t)
	set := controlPlane(t, true)
	books := opened()
	strategy := func(s string) answer {
		return must(t, append(set.args("patch"), "--type=merge", "-p", fmt.Sprintf(`{"spec":{"strategy":{"type":%q}}}`, s))...)
	}
	strategy("OnDelete")
	resize(t, "m6i.4xlarge")
	updated(t, 0)
	eventually(t, "the ClusterOperator tells that Machines are outdated", reports(t), atEase)
	before := masters(t)

	must(t, append(mapiMachine(before[2].Name).args("delete"), "--wait=false")...)
	eventually(t, "the Machine that was deleted is gone", func() string { return field(t, mapiMachine(before[2].Name), ".metadata.name") }, "")
	updated(t, 1)
	if now := masters(t); now[0].Name != before[0].Name || now[1].Name != before[1].Name {
		t.Errorf("of %q it made %q", names(before), names(now))
	}

	sick, was := before[1], size(t, before[0].Name)
	must(t, "annotate", "node", sick.Status.NodeRef.Name, simulation.NotReadyAnnotation+"=the disk is on fire")
	eventually(t, "a Machine is not ready", func() string { return field(t, set, ".status.readyReplicas") }, "2")
	a := strategy("RollingUpdate")
	warned(t, a, fmt.Sprintf("this will replace 2 of 3 control plane Machines, one at a time: %s (instanceType %s → m6i.4xlarge), %s (",
		sick.Name, was, before[0].Name))
	eventually(t, "the one that is not ready is gone", func() string { return field(t, mapiMachine(sick.Name), ".metadata.name") }, "")
	updated(t, 3)
	books.rolled(t, 3, "MachineAPI", "m6i.4xlarge")
	voting(t)
}

// "In case the ControlPlaneMachineSet is deleted": the Machines stay.
func TestASetOfAControlPlaneIsDeletedAndItsMachinesStay(t *testing.T) {
	stories.Long(t)
	set := controlPlane(t, true)
	before, calls := names(masters(t)), len(stage.Cloud.Instances())
	uid := field(t, set, ".metadata.uid")

	a := kubectl(t, "", append(set.args("delete"), "--cascade=foreground", "--wait=false")...)
	refused(t, a, "controlplane/foreground")
	if want := "kubectl -n openshift-machine-api delete controlplanemachinesets.machine.openshift.io cluster --cascade=background"; !strings.Contains(
		a.err, want) {
		t.Errorf("the refusal does not say %q: %s", want, a.err)
	}
	a = must(t, append(set.args("delete"), "--wait=false")...)
	warned(t, a, "the control plane's 3 Machines and their Nodes keep running")
	eventually(t, "an Inactive set comes back", func() string {
		return fmt.Sprint(field(t, set, ".metadata.uid") != uid, " ", field(t, set, ".spec.state"))
	}, "true Inactive")
	eventually(t, "nobody owns the Machines", func() string { return owned(t) }, "0")
	updated(t, 3)
	if now := names(masters(t)); !slices.Equal(now, before) {
		t.Errorf("of %q it left %q", before, now)
	}
	if n := len(stage.Cloud.Instances()); n != calls {
		t.Errorf("%d instances were launched", n-calls)
	}
}
