// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

func hooked(m *machinev1beta1.Machine) {
	m.Spec.LifecycleHooks.PreDrain = []machinev1beta1.LifecycleHook{{Name: "EtcdQuorumOperator", Owner: "clusteroperator/etcd"}}
}

func ruledBy(a machinev1beta1.MachineAuthority) func(*machinev1beta1.Machine) {
	return func(m *machinev1beta1.Machine) { m.Status.AuthoritativeAPI = a }
}

// refusedThere is a Machine of Cluster API's that does not convert.
func refusedThere(m *machinev1beta1.Machine) {
	m.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI
	m.Status.Conditions = []machinev1beta1.Condition{{Type: authority.ConditionSynchronized, Status: corev1.ConditionFalse, Reason: "FieldsNotConvertible", Message: "spec.x: no"}}
}

// clusterPaused is a Machine whose Cluster a person has paused, so that Cluster API does not act on it.
func clusterPaused(m *machinev1beta1.Machine) {
	m.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI
	m.Status.Conditions = append(m.Status.Conditions, machinev1beta1.Condition{Type: authority.ConditionSettled, Status: corev1.ConditionFalse,
		Reason: authority.ReasonPausedElsewhere, Message: "unpause it"})
}

// refusedByCloud is a Machine whose instance the cloud refuses to create, in many words.
func refusedByCloud(m *machinev1beta1.Machine) {
	m.Status.Conditions = []machinev1beta1.Condition{{Type: machinev1beta1.MachineCreated, Status: corev1.ConditionFalse,
		Reason: machinev1beta1.MachineCreationFailedConditionReason, Message: "no capacity in a" + strings.Repeat(".", 1000)}}
}

// mute is a Machine whose conditions have no messages.
func mute(m *machinev1beta1.Machine) {
	for i := range m.Status.Conditions {
		m.Status.Conditions[i].Message = ""
	}
}

// refusedThroughClusterAPI is a Machine of Cluster API's with a condition that its mirror has from the provider.
func refusedThroughClusterAPI(reason string) func(*machinev1beta1.Machine) {
	return func(m *machinev1beta1.Machine) {
		m.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI
		m.Status.Conditions = []machinev1beta1.Condition{{Type: machinev1beta1.InstanceExistsCondition, Status: corev1.ConditionFalse, Reason: reason, Message: "no capacity in a"}}
	}
}

// moved is a Machine whose mirror has not run since Cluster API became authoritative.
func moved(m *machinev1beta1.Machine) {
	m.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI
	m.Status.Conditions = []machinev1beta1.Condition{{Type: authority.ConditionSynchronized, Status: corev1.ConditionUnknown,
		Reason: authority.ReasonAuthorityChanged}}
}

// born is a Machine that the set has created a moment ago, for which nobody has stored an authority.
func born(m *machinev1beta1.Machine) { m.Status = machinev1beta1.MachineStatus{} }

// bornThere is a Machine that was created for Cluster API, and whose mirror has written nothing yet.
func bornThere(m *machinev1beta1.Machine) {
	m.Spec.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI
	m.Status = machinev1beta1.MachineStatus{AuthoritativeAPI: machinev1beta1.MachineAuthorityClusterAPI}
}

func TestWhatAuthorityMakesOfAPlan(t *testing.T) {
	labelled := func(v *controlplane.View) { template(v).ObjectMeta.Labels["team"] = "x" }
	for text, c := range map[string]struct {
		do    []change
		steps []string
		waits string
	}{
		"a set that is moving":                              {do: []change{larger, labelled, func(v *controlplane.View) { v.Authority = authority.Migrating }}, waits: "the move of the ControlPlaneMachineSet to end: its status.authoritativeAPI is Migrating"},
		"a set for which Cluster API is authoritative":      {do: []change{larger, func(v *controlplane.View) { v.Authority = authority.ClusterAPI }}, steps: []string{"Create 0 in a"}},
		"a new one counts before anybody has written to it": {do: []change{larger, with("c-master-x-0", "a", true), on(3, born)}, waits: "c-master-x-0 is not ready yet"},
		"and one of Cluster API's before its twin is made":  {do: []change{larger, func(v *controlplane.View) { v.Authority = authority.ClusterAPI }, with("c-master-x-0", "a", true), on(3, bornThere)}, waits: "c-master-x-0 is not ready yet"},
		"so it does where it fills an index":                {do: []change{without(0), func(v *controlplane.View) { v.Authority = authority.ClusterAPI }, with("c-master-x-0", "a", true), on(2, bornThere)}, waits: "c-master-x-0 is not ready yet"},
		"and replaces one that is being deleted":            {do: []change{on(0, going), func(v *controlplane.View) { v.Authority = authority.ClusterAPI }, with("c-master-x-0", "a", true), on(3, bornThere)}, waits: "c-master-0 is being deleted"},
		"and right after a switch, when its mirror has yet to run": {do: []change{func(v *controlplane.View) { v.Authority = authority.ClusterAPI }, on(0, moved), on(1, moved), on(2, moved)},
			waits: "the move of Machine c-master-0 to end: its condition Synchronized is Unknown, because Poundlock has not mirrored in the new direction yet"},
		"while one Machine moves, nothing is begun": {do: []change{larger, on(2, ruledBy("Migrating"))}, waits: "the move of Machine c-master-2 to " +
			"end: its status.authoritativeAPI is Migrating"},
		"a deleted one is replaced, whatever its mirror does": {do: []change{on(2, moved), on(2, going)}, steps: []string{"Create 2 in c"}},
		"but one that somebody deletes is replaced":           {do: []change{larger, on(2, ruledBy("Migrating")), on(0, going)}, steps: []string{"Create 0 in a"}},
		"and one that is gone":                                {do: []change{larger, on(2, ruledBy("Migrating")), without(0)}, steps: []string{"Create 0 in a"}},
		"but nothing is deleted for it": {do: []change{larger, on(2, ruledBy("Migrating")), with("c-master-x-0", "a", false)}, waits: "the move of Machine " +
			"c-master-2 to end: its status.authoritativeAPI is Migrating"},
		"nor is one replaced while the set moves": {do: []change{on(0, going), func(v *controlplane.View) { v.Authority = authority.Migrating }}, waits: "the move of the " +
			"ControlPlaneMachineSet to end: its status.authoritativeAPI is Migrating"},
		"nor before its mirror follows": {do: []change{larger, on(2, moved)}, waits: "the move of Machine c-master-2 to end: its condition Synchronized is " +
			"Unknown, because Poundlock has not mirrored in the new direction yet"},
		"and that one alone is not touched": {do: []change{labelled, on(2, ruledBy("Migrating"))}, steps: []string{"Amend c-master-0", "Amend " +
			"c-master-1"}, waits: "the move of Machine c-master-2 to end: its status.authoritativeAPI is Migrating"},
		"one of Cluster API's is not changed in place": {do: []change{labelled, on(2, ruledBy("ClusterAPI"))}, steps: []string{"Amend c-master-0", "Amend c-master-1"}},
		"but adopted":  {do: []change{on(2, ruledBy("ClusterAPI")), on(2, func(m *machinev1beta1.Machine) { m.OwnerReferences = nil })}, steps: []string{"Adopt c-master-2"}},
		"and replaced": {do: []change{larger, on(0, ruledBy("ClusterAPI"))}, steps: []string{"Create 0 in a"}},
		"Recreate does not remove a second Machine from etcd": {do: []change{strategy("Recreate"), larger, without(2), with("c-master-x-2", "c", false), notReady(2)}, waits: "c-master-x-2 " +
			"is not ready: until it is, the strategy Recreate deletes no other Machine"},
		"Recreate begins with the one that is not ready": {do: []change{strategy("Recreate"), larger, notReady(1)}, steps: []string{"Delete c-master-1"}},
		"the message names a hook and its owner":         {do: []change{larger, with("c-master-x-0", "a", false), on(0, going), on(0, hooked)}, waits: "c-master-0 is being deleted, held by the hook EtcdQuorumOperator of clusteroperator/etcd"},
		"a new one that Cluster API cannot make says why": {do: []change{larger, with("c-master-x-0", "a", true), on(3, refusedThere)},
			waits: "c-master-x-0 is not ready yet: its condition Synchronized is False, so Cluster API creates no instance for it (FieldsNotConvertible: spec.x: " +
				"no)"},
		"a new one whose Cluster is paused says so": {do: []change{larger, with("c-master-x-0", "a", true), on(3, clusterPaused)},
			waits: "c-master-x-0 is not ready yet: its condition AuthoritySettled is False (PausedElsewhere: unpause it)"},
		"a new one that the cloud refuses has its words, cut": {do: []change{larger, with("c-master-x-0", "a", true), on(3, refusedByCloud)},
			waits: "c-master-x-0 is not ready yet: its condition MachineCreated is False (MachineCreationFailed: no capacity in " +
				"a" + strings.Repeat(".", 184) + " …)"},
		"a new one of Cluster API's that the cloud refuses has its words": {do: []change{larger, with("c-master-x-0", "a", true), on(3, refusedThroughClusterAPI("InstanceProvisionFailed"))},
			waits: "c-master-x-0 is not ready yet: its condition InstanceExists is False, as Cluster API reports (InstanceProvisionFailed: no capacity in a)"},
		"a new one whose provider says no more than a reason": {do: []change{larger, with("c-master-x-0", "a", true), on(3, refusedThroughClusterAPI("InstanceTerminated")), on(3, mute)},
			waits: "c-master-x-0 is not ready yet: its condition InstanceExists is False, as Cluster API reports (InstanceTerminated)"},
		"a new one of Cluster API's that is on its way has none": {do: []change{larger, with("c-master-x-0", "a", true), on(3, refusedThroughClusterAPI("InstanceNotReady"))},
			waits: "c-master-x-0 is not ready yet"},
		"Recreate, where it has not been allowed: nothing": {do: []change{strategy("Recreate"), larger, noRecreate}},
	} {
		t.Run(text, func(t *testing.T) {
			v := world()
			for _, do := range c.do {
				do(v)
			}
			p := controlplane.Make(*v)
			if got := steps(p); strings.Join(got, "; ") != strings.Join(c.steps, "; ") {
				t.Errorf("steps %q, want %q", got, c.steps)
			}
			if p.Waits != c.waits {
				t.Errorf("waits for %q, want %q", p.Waits, c.waits)
			}
		})
	}
}

// TestMachinesThatClusterAPICannotMake: a Machine of Cluster API's that does not convert never gets an instance, and under Recreate another one would have
// been given up for it.
func TestMachinesThatClusterAPICannotMake(t *testing.T) {
	theirs := func(v *controlplane.View) { v.Authority = authority.ClusterAPI }
	byTemplate := func(v *controlplane.View) { template(v).Spec.AuthoritativeAPI = "ClusterAPI" }
	refused := func(v *controlplane.View) { v.Unreflected = "spec.template.x: no" }
	behind := func(v *controlplane.View) { v.Behind = true }
	const follows = "Poundlock to mirror the ControlPlaneMachineSet to Cluster API: its status.synchronizedGeneration is behind its metadata.generation"
	for text, c := range map[string]struct {
		do      []change
		steps   []string
		waits   string
		problem bool
	}{
		"a field that does not convert":                   {do: []change{larger, theirs, refused}, problem: true},
		"also where only the template asks for it":        {do: []change{larger, byTemplate, refused}, problem: true},
		"under Recreate no Machine is given up for it":    {do: []change{larger, strategy("Recreate"), theirs, refused}, problem: true},
		"under OnDelete":                                  {do: []change{larger, strategy("OnDelete"), theirs, refused, on(0, going)}, problem: true},
		"of Machine API's nobody asks":                    {do: []change{larger, refused, behind}, steps: []string{"Create 0 in a"}},
		"an edit that the mirror has yet to see":          {do: []change{larger, theirs, behind}, waits: follows},
		"an edit that it has seen":                        {do: []change{larger, theirs}, steps: []string{"Create 0 in a"}},
		"what cannot be read at all is told by its field": {do: []change{theirs, refused, func(v *controlplane.View) { template(v).Spec.ProviderSpec.Value = nil }}, problem: true},
	} {
		t.Run(text, func(t *testing.T) {
			v := world()
			for _, do := range c.do {
				do(v)
			}
			p := controlplane.Make(*v)
			if got := steps(p); strings.Join(got, "; ") != strings.Join(c.steps, "; ") || p.Waits != c.waits {
				t.Errorf("steps %q, waits for %q", got, p.Waits)
			}
			if len(p.Problems) > 1 || len(p.Problems) == 1 != c.problem {
				t.Errorf("problems %v", p.Problems)
			}
			if future := controlplane.Ahead(*v); c.problem && len(future.Moments) > 0 || !c.problem && len(future.Moments) == 0 {
				t.Errorf("ahead: %v", foretold(future))
			}
		})
	}
}

// TestWhatTheStoredSetShowsOfClusterAPI: a template that the API server does not take keeps no Machine from being made.
func TestWhatTheStoredSetShowsOfClusterAPI(t *testing.T) {
	for text, c := range map[string]struct {
		status      metav1.ConditionStatus
		reason      string
		generation  int64
		unreflected string
		behind      bool
	}{
		"in step":                {metav1.ConditionTrue, "ResourceSynchronized", 3, "", false},
		"edited":                 {metav1.ConditionTrue, "ResourceSynchronized", 2, "", true},
		"never followed":         {"", "", 0, "", false},
		"what does not convert":  {metav1.ConditionFalse, "FieldsNotConvertible", 2, "the message", true},
		"a template is refused":  {metav1.ConditionFalse, controlplane.ReflectionRefused, 2, "", false},
		"an infrastructure lost": {metav1.ConditionFalse, "ClusterNotReady", 3, "the message", false},
	} {
		v := &controlplane.View{MayRecreate: true}
		v.Reflects(authority.Shape{Current: authority.ClusterAPI, SynchronizedGeneration: c.generation,
			Conditions: []authority.Condition{{Type: authority.ConditionSynchronized, Status: c.status, Reason: c.reason, Message: "the message"}}}, 3)
		if v.Unreflected != c.unreflected || v.Behind != c.behind || v.Authority != authority.ClusterAPI {
			t.Errorf("%s: %+v", text, v)
		}
	}
}

func TestConditions(t *testing.T) {
	inactive := func(v *controlplane.View) { v.Set.Spec.State = "Inactive" }
	for message, c := range map[string]struct {
		do []change
		// want is, for each condition, how what it says begins.
		available, progressing, degraded, upgradeable string
	}{
		"all is well": {nil, "True AsExpected All 3", "False AsExpected All control plane", "False AsExpected No problem", "True AsExpected"},
		"rolling": {[]change{larger}, "True AsExpected", "True RollingOut 0 of 3 control plane Machines match the template and are ready. Next the set creates a " +
			"Machine at index 0 in a: c-master-0 is outdated: instanceType m6i.xlarge → m6i.2xlarge. Still to be replaced: c-master-0 (instanceType",
			"False AsExpected", "False RollingOut Upgrade once this change of the control plane is complete. 0 of 3"},
		"held by etcd": {[]change{larger, with("c-master-x-0", "a", false), on(0, going), on(0, hooked)}, "True AsExpected",
			"True WaitingForHook 1 of 3 control plane Machines match the template and are ready. c-master-0 is being deleted, held by the hook EtcdQuorumOperator of clusteroperator/etcd",
			"False AsExpected", "False WaitingForHook"},
		"held by etcd, another is lost": {[]change{larger, with("c-master-x-0", "a", false), on(0, going), on(0, hooked), on(1, func(m *machinev1beta1.Machine) { m.Status.Phase = new("Failed") }), func(v *controlplane.View) { v.Set.Namespace = "openshift-machine-api" }}, "True AsExpected",
			"True WaitingForHook 1 of 3 control plane Machines match the template and are ready. c-master-0 is being deleted, held by the hook EtcdQuorumOperator " +
				"of clusteroperator/etcd; these Machines are not ready: c-master-1. The hook may stay until each of them is ready again or deleted",
			"True FailedMachines These Machines have failed: c-master-1. The hook EtcdQuorumOperator of clusteroperator/etcd holds c-master-0, and may wait " +
				"until the failed Machines are gone. Do not remove the hook. Delete the failed Machines, and the set creates others: kubectl -n " +
				"openshift-machine-api delete " +
				"machines.machine.openshift.io c-master-1",
			"False FailedMachines"},
		"held by etcd, another is not ready": {[]change{larger, with("c-master-x-0", "a", false), on(0, going), on(0, hooked), notReady(1)}, "False UnavailableReplicas",
			"True WaitingForHook 1 of 3 control plane Machines match the template and are ready. c-master-0 is being deleted, held by the hook " +
				"EtcdQuorumOperator of clusteroperator/etcd; these Machines are not ready: c-master-1.",
			"False AsExpected", "False WaitingForHook"},
		"held by etcd, another of Cluster API's is lost": {[]change{larger, with("c-master-x-0", "a", false), on(0, going), on(0, hooked), on(1, terminated), notReady(1)}, "False UnavailableReplicas",
			"True WaitingForHook", "True FailedMachines These Machines have failed: c-master-1. The hook EtcdQuorumOperator of clusteroperator/etcd holds " +
				"c-master-0", "False FailedMachines"},
		"one that is outdated has failed": {[]change{larger, on(1, func(m *machinev1beta1.Machine) { m.Status.Phase = new("Failed") })}, "True AsExpected", "True RollingOut", "False AsExpected", "False RollingOut"},
		"held by etcd, under Recreate": {[]change{strategy("Recreate"), larger, on(0, going), on(0, hooked)}, "True AsExpected All 3",
			"True WaitingForHook 0 of 3 control plane Machines match the template and are ready. c-master-0 is being deleted, held by the hook EtcdQuorumOperator " +
				"of clusteroperator/etcd; etcd's hook waits for the replacement, which the strategy Recreate only",
			"False AsExpected", "False WaitingForHook"},
		"a reboot": {[]change{rebooting(1, time.Second)}, "True AsExpected All 3 control plane Machines run. The Nodes of these " +
			"Machines became NotReady less than 20m0s ago, perhaps because of a reboot: c-master-1", "False AsExpected", "False AsExpected", "True AsExpected"},
		"a reboot that does not end":        {[]change{rebooting(1, 20*time.Minute)}, "False UnavailableReplicas 2 of 3", "False AsExpected", "False AsExpected", "True AsExpected"},
		"a Node that was never ready":       {[]change{rebooting(1, time.Second), joinedAgo(1, time.Minute)}, "False UnavailableReplicas 2 of 3", "False AsExpected", "False AsExpected", "True AsExpected"},
		"a person deletes one":              {[]change{strategy("OnDelete"), on(1, going)}, "True AsExpected All 3", "True RollingOut", "False AsExpected", "False RollingOut"},
		"one that is deleted and rebooting": {[]change{on(1, going), rebooting(1, time.Second)}, "True AsExpected All 3", "True RollingOut", "False AsExpected", "False RollingOut"},
		"one is not ready": {[]change{notReady(1)}, "False UnavailableReplicas 2 of 3 control plane Machines run with a Node that is ready. " +
			"Without a ready Node: index 1 (c-master-1)", "False AsExpected", "False AsExpected", "True AsExpected"},
		"waiting for a person": {[]change{larger, strategy("OnDelete")}, "True AsExpected", "False WaitingForDeletion 0 of 3", "False AsExpected", "True AsExpected"},
		"stopped": {[]change{larger, on(1, func(m *machinev1beta1.Machine) { m.OwnerReferences[0].UID = "other" })}, "True " +
			"AsExpected", "False Stopped", "True MachinesOwnedByAnother These Machines have another controller", "False MachinesOwnedByAnother Upgrade once this " +
			"problem is fixed"},
		"a selector of no meaning": {[]change{func(v *controlplane.View) { v.Set.Spec.Selector.MatchLabels = map[string]string{"a b": "c"} }}, "True " +
			"AsExpected", "False Stopped", "True InvalidSet Fields of the set are invalid: spec.selector: ", "False InvalidSet"},
		"Recreate without leave": {[]change{strategy("Recreate"), noRecreate}, "True AsExpected", "False Stopped", "True RecreateDisabled The strategy is " +
			"Recreate, but Poundlock runs without --control-plane-recreate: with the strategy Recreate each Machine is deleted before", "False RecreateDisabled"},
		"inactive": {[]change{inactive, larger}, "True AsExpected", "False Inactive the set is Inactive. If it were Active, it would replace 3 of 3",
			"False AsExpected", "True Inactive"},
		"inactive and in trouble": {[]change{inactive, func(v *controlplane.View) { v.Nodes = append(v.Nodes, node("stray")) }}, "True AsExpected", "False " +
			"Inactive the set is Inactive. If it were Active, it would do nothing until this problem is fixed: These control plane Nodes", "False " +
			"Inactive", "True Inactive"},
	} {
		t.Run(message, func(t *testing.T) {
			v := world()
			for _, do := range c.do {
				do(v)
			}
			p := controlplane.Make(*v)
			for i, want := range []string{c.available, c.progressing, c.degraded} {
				got := p.Conditions()[i]
				if text := string(got.Status) + " " + got.Reason + " " + got.Message; !strings.HasPrefix(text, want) {
					t.Errorf("%s: %q, want %q", got.Type, text, want)
				}
			}
			all := controlplane.OperatorConditions(&p, "")
			got := all[len(all)-1]
			if text := string(got.Status) + " " + got.Reason + " " + got.Message; len(all) != 4 || got.Type != controlplane.Upgradeable ||
				!strings.HasPrefix(text, c.upgradeable) {
				t.Errorf("%s: %q, want %q", got.Type, text, c.upgradeable)
			}
		})
	}
}

func TestTheMachineThatIsMade(t *testing.T) {
	v := world()
	template(v).ObjectMeta.Annotations = map[string]string{"team": "x"}
	template(v).Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	larger(v)
	make := func() *machinev1beta1.Machine {
		p := controlplane.Make(*v)
		all := p.Steps()
		return p.Machine(all[len(all)-1].Index)
	}
	m := make()
	if !regexp.MustCompile(`^c-master-[a-z2-7]{5}-0$`).MatchString(m.Name) || m.Name != make().Name {
		t.Errorf("it is called %s, and then %s", m.Name, make().Name)
	}
	v.Set.ResourceVersion = "2"
	if make().Name == m.Name {
		t.Error("once the set has told of it, the next has its name again")
	}
	v.Set.Spec.MachineNamePrefix = "mine"
	if !strings.HasPrefix(make().Name, "mine-") {
		t.Errorf("with a prefix it is called %s", make().Name)
	}
	if o := m.OwnerReferences[0]; o.UID != "set" || o.Kind != controlplane.Kind || !*o.Controller || !*o.BlockOwnerDeletion {
		t.Errorf("its owner is %v", o)
	}
	if m.Labels["role"] != "master" || m.Annotations["team"] != "x" || len(m.Spec.Taints) != 1 || m.Spec.AuthoritativeAPI != "MachineAPI" {
		t.Errorf("it is made as %v", m)
	}
	if text := string(m.Spec.ProviderSpec.Value.Raw); !strings.Contains(text, `"availabilityZone":"a"`) || !strings.Contains(text, "m6i.2xlarge") {
		t.Errorf("it is made from %s", text)
	}
	v.Authority = authority.ClusterAPI
	if a := make().Spec.AuthoritativeAPI; a != "ClusterAPI" {
		t.Errorf("under a set of Cluster API's, %s is authoritative for it", a)
	}
}

// rebooting has a Node turn not ready some time ago.
func rebooting(i int, ago time.Duration) change {
	return func(v *controlplane.View) {
		v.NotReadyGrace = controlplane.NotReadyGrace
		v.Nodes[i].Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown,
			LastTransitionTime: metav1.NewTime(noon.Add(-ago))}}
	}
}

func joinedAgo(i int, ago time.Duration) change {
	return func(v *controlplane.View) { v.Nodes[i].CreationTimestamp = metav1.NewTime(noon.Add(-ago)) }
}

// TestNoStepRestsOnTheGrace: what is not ready now is no reason to delete anything, however short it is so.
func TestNoStepRestsOnTheGrace(t *testing.T) {
	for text, c := range map[string]struct {
		do    []change
		waits string
	}{
		"a replacement that reboots": {do: []change{larger, with("c-master-x-0", "a", false), rebooting(3, time.Second)}, waits: "c-master-x-0 is not ready yet"},
		"the second of two": {do: []change{larger, strategy("Recreate"), without(2), with("c-master-x-2", "c", false), rebooting(2, time.Second)}, waits: "c-master-x-2 " +
			"is not ready: until it is, the strategy Recreate deletes no other Machine"},
	} {
		t.Run(text, func(t *testing.T) {
			v := world()
			for _, do := range c.do {
				do(v)
			}
			p := controlplane.Make(*v)
			if got := steps(p); len(got) > 0 || p.Waits != c.waits {
				t.Errorf("steps %q, waits for %q, want %q", got, p.Waits, c.waits)
			}
			if want := noon.Add(controlplane.NotReadyGrace - time.Second); !p.Next.Equal(want) {
				t.Errorf("looks again at %s, want %s", p.Next, want)
			}
		})
	}
}

func TestANodeThatOutlivesItsMachine(t *testing.T) {
	v := world()
	stray := node("stray")
	stray.UID = "stray"
	v.Nodes = append(v.Nodes, stray)
	v.Unlinked = map[types.UID]time.Time{"stray": noon.Add(-time.Minute)}
	p := controlplane.Make(*v)
	if want := noon.Add(controlplane.Grace - time.Minute); len(p.Problems) > 0 || !p.Next.Equal(want) {
		t.Errorf("a minute later: %v, looks again at %s, want %s", p.Problems, p.Next, want)
	}
	v.Now = noon.Add(controlplane.Grace)
	p = controlplane.Make(*v)
	if len(p.Problems) != 1 || p.Problems[0].Reason != controlplane.UnmanagedNodes {
		t.Errorf("eleven minutes later: %v", p.Problems)
	}
}

// TestTheLabelThatAMachineLost: the message has a command that restores it, on the object that is authoritative.
func TestTheLabelThatAMachineLost(t *testing.T) {
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"role": "master", "type": "master"}}
	for sentence, c := range map[string]struct {
		labels   map[string]string
		status   machinev1beta1.MachineStatus
		selector metav1.LabelSelector
		want     string
	}{
		"of Machine API":                  {map[string]string{"role": "master"}, machinev1beta1.MachineStatus{}, selector, "(type=master): kubectl -n m label --overwrite machines.machine.openshift.io c-master-0 type=master"},
		"with another value":              {map[string]string{"role": "master", "type": "x"}, machinev1beta1.MachineStatus{}, selector, "(type=master): kubectl -n m label --overwrite machines.machine.openshift.io c-master-0 type=master"},
		"of Cluster API":                  {map[string]string{"role": "master"}, machinev1beta1.MachineStatus{AuthoritativeAPI: "ClusterAPI"}, selector, "(type=master): kubectl -n c label --overwrite machines.cluster.x-k8s.io c-master-0 type=master"},
		"while it moves from Cluster API": {map[string]string{"type": "master"}, machinev1beta1.MachineStatus{AuthoritativeAPI: "Migrating", SynchronizedAPI: "ClusterAPI"}, selector, "(role=master): kubectl -n c label --overwrite machines.cluster.x-k8s.io c-master-0 role=master"},
		"while it moves from Machine API": {map[string]string{"type": "master"}, machinev1beta1.MachineStatus{AuthoritativeAPI: "Migrating", SynchronizedAPI: "MachineAPI"}, selector, "(role=master): kubectl -n m label --overwrite machines.machine.openshift.io c-master-0 role=master"},
		"all of them":                     {nil, machinev1beta1.MachineStatus{}, selector, "(role=master, type=master): kubectl -n m label --overwrite machines.machine.openshift.io c-master-0 role=master type=master"},
		"of expressions": {map[string]string{"d": "", "e": "x"}, machinev1beta1.MachineStatus{}, metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "a", Operator: "In", Values: []string{"z", "y"}}, {Key: "b", Operator: "Exists"}, {Key: "d", Operator: "DoesNotExist"}, {Key: "e", Operator: "NotIn", Values: []string{"x"}},
		}}, "(a in (y,z), b, !d, e notin (x)): kubectl -n m label --overwrite machines.machine.openshift.io c-master-0 a=y b= d- e-"},
	} {
		t.Run(sentence, func(t *testing.T) {
			v := world()
			v.Set.Namespace, v.ClusterAPINamespace, v.Set.Spec.Selector = "m", "c", c.selector
			lost := v.Machines[0]
			v.Machines, v.Unselected = v.Machines[1:], []machinev1beta1.Machine{lost}
			v.Nodes[0].UID, v.Unlinked = "left", map[types.UID]time.Time{"left": noon.Add(-time.Minute)}
			v.Unselected[0].Namespace, v.Unselected[0].Labels = "m", c.labels
			v.Unselected[0].Status.AuthoritativeAPI, v.Unselected[0].Status.SynchronizedAPI = c.status.AuthoritativeAPI, c.status.SynchronizedAPI
			if p := controlplane.Make(*v); !strings.HasSuffix(p.Waits, c.want) {
				t.Errorf("waits for %q, want %q", p.Waits, c.want)
			}
		})
	}
}

// TestANodeThatServesWithoutItsMachine: somebody took a label off a Machine, or its finalizers, and its instance runs on. Another one in its place would be
// one too many.
func TestANodeThatServesWithoutItsMachine(t *testing.T) {
	v := world()
	v.Set.Spec.Selector.MatchLabels = map[string]string{"role": "master"}
	v.Nodes[0].UID = "left"
	v.Machines = v.Machines[1:]
	v.Unlinked = map[types.UID]time.Time{"left": noon.Add(-time.Minute)}
	p := controlplane.Make(*v)
	if got := steps(p); len(got) > 0 || !strings.Contains(p.Waits, "Node c-master-0 has just lost its Machine and is still ready") || p.Next.IsZero() {
		t.Errorf("%q, waits for %q, looks again at %s", got, p.Waits, p.Next)
	}
	for _, words := range []string{"a label that the set selects by (role=master)", "on machines.cluster.x-k8s.io if Cluster API is authoritative", "else on machines.machine.openshift.io"} {
		if !strings.Contains(p.Waits, words) {
			t.Errorf("without %q: %s", words, p.Waits)
		}
	}
	notReady(0)(v)
	v.Unselected = world().Machines[:1]
	v.Unselected[0].Labels = nil
	p = controlplane.Make(*v)
	if got := steps(p); len(got) > 0 || !strings.Contains(p.Waits, "the Machine of Node c-master-0 exists: c-master-0 lacks a label that the set selects by (role=master): kubectl") {
		t.Errorf("not ready, and its Machine is there: %q, waits for %q", got, p.Waits)
	}
	v.Now = noon.Add(controlplane.Grace)
	if p = controlplane.Make(*v); len(p.Problems) == 0 || !strings.Contains(p.Problems[0].Message, "c-master-0 (its Machine c-master-0 lacks a label") {
		t.Errorf("ten minutes later: %v", p.Problems)
	}
	v.Now, v.Unselected[0].DeletionTimestamp = noon, &metav1.Time{Time: noon}
	p = controlplane.Make(*v)
	if got := steps(p); len(got) != 1 || !strings.HasPrefix(got[0], "Create 0") {
		t.Errorf("its instance has ended: %q", got)
	}
}

// What activating a set leads to may be several sentences, which begin once.
func TestAnInactiveSetIsSaidOnceToBeSo(t *testing.T) {
	v := world()
	inactive(v)
	v.Machines, v.Nodes = v.Machines[:2], v.Nodes[:2]
	template(v).Spec.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI
	p := controlplane.Make(*v)
	message := p.Conditions()[1].Message
	if strings.Count(message, "the set is Inactive. If it were Active, it would") != 1 || !strings.Contains(message, ". It would ") {
		t.Error(message)
	}
}
