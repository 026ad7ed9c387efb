// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies/controlplane"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// three is a control plane on AWS in three zones that equals its set.
func three(changes ...func(*controlplane.View)) controlplane.View {
	v := controlplane.View{Now: noon, MayRecreate: true, Infrastructure: &configv1.Infrastructure{Status: configv1.InfrastructureStatus{
		InfrastructureName: "c", PlatformStatus: &configv1.PlatformStatus{Type: configv1.AWSPlatformType},
	}}}
	v.Set = &machinev1.ControlPlaneMachineSet{ObjectMeta: metav1.ObjectMeta{Name: "cluster", Namespace: "m", UID: "set"}}
	v.Set.Spec = machinev1.ControlPlaneMachineSetSpec{
		State: machinev1.ControlPlaneMachineSetStateActive, Replicas: new(int32(3)),
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "master"}},
		Template: machinev1.ControlPlaneMachineSetTemplate{
			MachineType: machinev1.OpenShiftMachineV1Beta1MachineType,
			OpenShiftMachineV1Beta1Machine: &machinev1.OpenShiftMachineV1Beta1MachineTemplate{
				FailureDomains: &machinev1.FailureDomains{Platform: configv1.AWSPlatformType, AWS: &[]machinev1.AWSFailureDomain{in("a"), in("b"), in("c")}},
				ObjectMeta:     machinev1.ControlPlaneMachineSetTemplateObjectMeta{Labels: map[string]string{"role": "master"}},
				Spec:           machinev1beta1.MachineSpec{ProviderSpec: spec("", "m6i.xlarge")},
			},
		},
	}
	for i, zone := range []string{"a", "b", "c"} {
		name := fmt.Sprintf("c-master-%d", i)
		v.Machines = append(v.Machines, machinev1beta1.Machine{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: types.UID(name), Labels: map[string]string{"role": "master"}, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
				OwnerReferences: []metav1.OwnerReference{{Kind: "ControlPlaneMachineSet", Name: "cluster", UID: "set", Controller: new(true)}},
			},
			Spec:   machinev1beta1.MachineSpec{ProviderSpec: spec(zone, "m6i.xlarge")},
			Status: machinev1beta1.MachineStatus{Phase: new("Running"), NodeRef: &corev1.ObjectReference{Name: name}},
		})
		v.Nodes = append(v.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			}})
	}
	for _, change := range changes {
		change(&v)
	}
	return v
}

func in(zone string) machinev1.AWSFailureDomain {
	return machinev1.AWSFailureDomain{Placement: machinev1.AWSFailureDomainPlacement{AvailabilityZone: zone}}
}

func spec(zone, instance string) machinev1beta1.ProviderSpec {
	s := map[string]any{"kind": "AWSMachineProviderConfig", "apiVersion": "machine.openshift.io/v1beta1", "instanceType": instance}
	if zone != "" {
		s["placement"] = map[string]any{"availabilityZone": zone}
	}
	raw, _ := json.Marshal(s)
	return machinev1beta1.ProviderSpec{Value: &runtime.RawExtension{Raw: raw}}
}

// The changes of the cases.

func larger(v *controlplane.View) {
	v.Set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec = spec("", "m6i.2xlarge")
}

func inactive(v *controlplane.View) { v.Set.Spec.State = machinev1.ControlPlaneMachineSetStateInactive }

func strategy(s machinev1.ControlPlaneMachineSetStrategyType) func(*controlplane.View) {
	return func(v *controlplane.View) { v.Set.Spec.Strategy.Type = s }
}

func going(i int) func(*controlplane.View) {
	return func(v *controlplane.View) { v.Machines[i].DeletionTimestamp = &metav1.Time{Time: noon} }
}

func young(i int) func(*controlplane.View) {
	return func(v *controlplane.View) {
		v.Machines[i].Status = machinev1beta1.MachineStatus{Phase: new("Provisioning")}
		v.Nodes = slices.Delete(v.Nodes, i, i+1)
	}
}

func notStored(v *controlplane.View) {
	v.Set.UID = ""
	for i := range v.Machines {
		v.Machines[i].OwnerReferences = nil
	}
}

func labelled(v *controlplane.View) {
	v.Set.Spec.Template.OpenShiftMachineV1Beta1Machine.ObjectMeta.Labels["team"] = "a"
}

func unmanaged(v *controlplane.View) {
	v.Nodes = append(v.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stray", CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}})
}

// replacement is the steps that replace one index.
func replacement(i int) []string {
	return []string{fmt.Sprintf("Create c-master-xxxxx-%d", i), fmt.Sprintf("Delete c-master-%d", i)}
}

func TestAheadIsThePlanToItsEnd(t *testing.T) {
	rolling := slices.Concat(replacement(0), replacement(1), replacement(2))
	for sentence, c := range map[string]struct {
		do   []func(*controlplane.View)
		want []string
	}{
		"nothing to do":                                   {},
		"an outdated one after the other":                 {do: []func(*controlplane.View){larger}, want: rolling},
		"of an inactive set, as if it were active":        {do: []func(*controlplane.View){larger, inactive}, want: rolling},
		"OnDelete ends with a person":                     {do: []func(*controlplane.View){larger, strategy("OnDelete")}, want: []string{"Wait "}},
		"OnDelete replaces what a person deletes":         {do: []func(*controlplane.View){larger, strategy("OnDelete"), going(1)}, want: []string{"Create c-master-xxxxx-1", "Wait ", "Wait "}},
		"Recreate deletes first":                          {do: []func(*controlplane.View){larger, strategy("Recreate")}, want: []string{"Delete c-master-0", "Create c-master-xxxxx-0", "Delete c-master-1", "Create c-master-xxxxx-1", "Delete c-master-2", "Create c-master-xxxxx-2"}},
		"what is going is waited for":                     {do: []func(*controlplane.View){larger, going(0)}, want: slices.Concat([]string{"Create c-master-xxxxx-0", "Wait "}, replacement(1), replacement(2))},
		"what is joining is waited for":                   {do: []func(*controlplane.View){young(2)}, want: []string{"Wait "}},
		"a set that is not stored yet owns them first":    {do: []func(*controlplane.View){notStored}, want: []string{"Adopt c-master-0", "Adopt c-master-1", "Adopt c-master-2"}},
		"what changes in place does so once":              {do: []func(*controlplane.View){labelled}, want: []string{"Amend c-master-0", "Amend c-master-1", "Amend c-master-2"}},
		"a set with problems does nothing, now and later": {do: []func(*controlplane.View){larger, unmanaged}},
	} {
		t.Run(sentence, func(t *testing.T) {
			v := three(c.do...)
			var got []string
			steps := Ahead(v)
			for _, s := range steps {
				got = append(got, s.Verb+" "+s.Machine)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			beginsWithThePlan(t, v, steps)
		})
	}
}

// beginsWithThePlan compares the steps that are taken now with those of the operator.
func beginsWithThePlan(t *testing.T, v controlplane.View, steps []ForecastStep) {
	t.Helper()
	set := v.Set.DeepCopy()
	set.Spec.State = machinev1.ControlPlaneMachineSetStateActive
	v.Set = set
	plan := controlplane.Make(v)
	want := []string{}
	for _, s := range plan.Steps() {
		want = append(want, string(s.Verb)+" "+s.Why)
	}
	got := []string{}
	for _, s := range steps {
		if s.Now && s.Verb != Wait {
			got = append(got, s.Verb+" "+s.Why)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("of now (-plan +ahead)\n%s", diff)
	}
}

func TestAReportChangesNothingOfItsView(t *testing.T) {
	v, same := three(larger, inactive, going(0)), three(larger, inactive, going(0))
	ReportOf("cluster", v)
	if diff := cmp.Diff(same, v); diff != "" {
		t.Error(diff)
	}
}

func TestAReport(t *testing.T) {
	r := ReportOf("cluster", three(larger, inactive, young(2)))
	if r.State != "Inactive" || r.Stuck() || len(r.Indexes) != 3 || r.Numbers != (Numbers{Replicas: 3, Ready: 2, Unavailable: 1}) {
		t.Errorf("%+v", r)
	}
	m := r.Indexes[2].Machines[0]
	if m.Ready || m.Updated || m.Phase != "Provisioning" || !slices.Equal(m.WaitsFor, []string{"it has no Node yet"}) {
		t.Errorf("%+v", m)
	}
	if diff := cmp.Diff([]Difference{{"spec.providerSpec.value.instanceType", "Rollout", "m6i.xlarge", "m6i.2xlarge"}}, m.In(controlplane.Rollout)); diff != "" {
		t.Error(diff)
	}
	if stuck := ReportOf("cluster", three(unmanaged)); !stuck.Stuck() || stuck.Problems[0].Reason != string(controlplane.UnmanagedNodes) || len(stuck.Steps) > 0 {
		t.Errorf("%+v", stuck)
	}
	leaving := ReportOf("cluster", three(larger, func(v *controlplane.View) { v.Set.DeletionTimestamp = &metav1.Time{Time: noon} }))
	if !leaving.Deleting || len(leaving.Steps) > 0 || !strings.Contains(leaving.Forecast[0], "being deleted") {
		t.Errorf("%+v", leaving)
	}
	broken := ReportOf("cluster", three(func(v *controlplane.View) {
		v.Set.Spec.Template.OpenShiftMachineV1Beta1Machine.Spec.ProviderSpec.Value = nil
	}))
	if !broken.Stuck() || len(broken.Invalid) == 0 || !strings.Contains(broken.Invalid[0].Path, "providerSpec") {
		t.Errorf("%+v", broken)
	}
}

func TestWhatAMachineWaitsFor(t *testing.T) {
	hooks := func(m *machinev1beta1.Machine) {
		m.Spec.LifecycleHooks.PreDrain = []machinev1beta1.LifecycleHook{{Name: "EtcdQuorumOperator", Owner: "clusteroperator/etcd"}}
		m.Spec.LifecycleHooks.PreTerminate = []machinev1beta1.LifecycleHook{{Name: "Backup", Owner: "ops"}}
	}
	for sentence, c := range map[string]struct {
		do   func(*machinev1beta1.Machine)
		want []string
	}{
		"one that is ready waits for nothing, whatever its hooks": {do: hooks},
		"one that goes is held before its drain first": {func(m *machinev1beta1.Machine) {
			m.DeletionTimestamp = &metav1.Time{Time: noon}
			hooks(m)
		}, []string{"preDrain hook EtcdQuorumOperator of clusteroperator/etcd"}},
		"then until it is drained": {func(m *machinev1beta1.Machine) {
			m.DeletionTimestamp = &metav1.Time{Time: noon}
			hooks(m)
			m.Spec.LifecycleHooks.PreDrain = nil
		}, []string{"its Node to be drained", "preTerminate hook Backup of ops"}},
		"then before its instance is terminated": {func(m *machinev1beta1.Machine) {
			m.DeletionTimestamp = &metav1.Time{Time: noon}
			hooks(m)
			m.Spec.LifecycleHooks.PreDrain = nil
			m.Status.Conditions = []machinev1beta1.Condition{{Type: machinev1beta1.MachineDrained, Status: corev1.ConditionTrue}}
		}, []string{"preTerminate hook Backup of ops"}},
		"then for its finalizers": {func(m *machinev1beta1.Machine) {
			m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: noon}, []string{"machine.machine.openshift.io"}
			m.Status.NodeRef = nil
		}, []string{"the finalizers machine.machine.openshift.io"}},
		"one that failed": {func(m *machinev1beta1.Machine) {
			m.Status.Phase, m.Status.ErrorMessage = new("Failed"), new("no capacity in a")
		}, []string{"it has failed: no capacity in a"}},
		"one whose instance the cloud refuses": {func(m *machinev1beta1.Machine) {
			m.Status = machinev1beta1.MachineStatus{Phase: new("Provisioning"), Conditions: []machinev1beta1.Condition{{
				Type: machinev1beta1.MachineCreated, Status: corev1.ConditionFalse, Reason: "MachineCreationFailed", Message: "no capacity in a",
			}}}
		}, []string{"it has no Node yet: its condition MachineCreated is False (MachineCreationFailed: no capacity in a)"}},
		"a Node that is not there": {func(m *machinev1beta1.Machine) {
			m.Status.NodeRef = &corev1.ObjectReference{Name: "gone"}
		}, []string{"its Node gone does not exist, or does not have the control plane's role"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := ReportOf("cluster", three(func(v *controlplane.View) { c.do(&v.Machines[0]) }))
			if diff := cmp.Diff(c.want, r.Indexes[0].Machines[0].WaitsFor); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The plan's wait and the Machine's have the same reason.
func TestAMachineIsWaitedForOnce(t *testing.T) {
	v := three(young(0), func(v *controlplane.View) {
		v.Machines[0].Status.Conditions = []machinev1beta1.Condition{{
			Type: machinev1beta1.MachineCreated, Status: corev1.ConditionFalse, Reason: "MachineCreationFailed", Message: "no capacity in a",
		}}
	})
	plan := controlplane.Make(v)
	got := Standing{Indexes: indexes(v, plan)}.waits(plan)
	want := []string{"c-master-0 is not ready: it has no Node yet: its condition MachineCreated is False (MachineCreationFailed: no capacity in a)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is waited for names a hook once: the plan's sentence about the Machine that it holds has more than the name.
func TestAHookIsWaitedForOnce(t *testing.T) {
	const owner = "clusteroperator/etcd"
	for sentence, c := range map[string]struct {
		plan string
		why  []string
		want []string
	}{
		"it holds the Machine": {
			"m is being deleted, held by the hook EtcdQuorumOperator of clusteroperator/etcd; remove it", []string{"preDrain hook EtcdQuorumOperator of " + owner},
			[]string{"m is being deleted, held by the hook EtcdQuorumOperator of clusteroperator/etcd; remove it"},
		},
		"and the drain": {
			"m is being deleted, held by the hook A of b", []string{"its Node to be drained", "preTerminate hook A of b"},
			[]string{"m is being deleted, held by the hook A of b", "m is being deleted, and waits for: its Node to be drained"},
		},
		"another one's": {
			"n is being deleted, held by the hook A of b", []string{"preDrain hook A of b"},
			[]string{"n is being deleted, held by the hook A of b", "m is being deleted, and waits for: preDrain hook A of b"},
		},
		"nothing holds it": {"m is being deleted", []string{"the finalizers f"}, []string{"m is being deleted, and waits for: the finalizers f"}},
		"nothing is known": {"m is being deleted", nil, []string{"m is being deleted"}},
	} {
		s := Standing{Indexes: []Index{{Machines: []Machine{{Name: "m", Deleting: true, WaitsFor: c.why}}}}}
		if diff := cmp.Diff(c.want, s.waits(controlplane.Plan{Waits: c.plan})); diff != "" {
			t.Errorf("%s: %s", sentence, diff)
		}
	}
}
