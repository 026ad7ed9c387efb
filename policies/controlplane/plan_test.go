// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	"github.com/poundlock/poundlock/policies/controlplane/admission"
	"github.com/poundlock/poundlock/test/stories"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// world is a control plane on AWS in three zones, all as the set has it.
func world() *controlplane.View {
	three := int32(3)
	v := &controlplane.View{Now: noon, MayRecreate: true, Infrastructure: &configv1.Infrastructure{
		Status: configv1.InfrastructureStatus{InfrastructureName: "c", PlatformStatus: &configv1.PlatformStatus{Type: configv1.AWSPlatformType}},
	}}
	v.Set = &machinev1.ControlPlaneMachineSet{ObjectMeta: metav1.ObjectMeta{Name: "cluster", UID: "set"}}
	v.Set.Spec = machinev1.ControlPlaneMachineSetSpec{
		State: machinev1.ControlPlaneMachineSetStateActive, Replicas: &three,
		Template: machinev1.ControlPlaneMachineSetTemplate{OpenShiftMachineV1Beta1Machine: &machinev1.OpenShiftMachineV1Beta1MachineTemplate{
			FailureDomains: &machinev1.FailureDomains{Platform: configv1.AWSPlatformType, AWS: zones("a", "b", "c")},
			ObjectMeta:     machinev1.ControlPlaneMachineSetTemplateObjectMeta{Labels: map[string]string{"role": "master"}},
			Spec:           machinev1beta1.MachineSpec{ProviderSpec: spec("")},
		}},
	}
	for i, zone := range []string{"a", "b", "c"} {
		v.Machines = append(v.Machines, running(fmt.Sprintf("c-master-%d", i), zone, i))
		v.Nodes = append(v.Nodes, node(fmt.Sprintf("c-master-%d", i)))
	}
	return v
}

func zones(names ...string) *[]machinev1.AWSFailureDomain {
	var out []machinev1.AWSFailureDomain
	for _, n := range names {
		id := "subnet-" + n
		out = append(out, machinev1.AWSFailureDomain{
			Placement: machinev1.AWSFailureDomainPlacement{AvailabilityZone: n},
			Subnet:    &machinev1.AWSResourceReference{Type: machinev1.AWSIDReferenceType, ID: &id},
		})
	}
	return &out
}

func spec(zone string) machinev1beta1.ProviderSpec {
	s := map[string]any{"kind": "AWSMachineProviderConfig", "apiVersion": "machine.openshift.io/v1beta1", "instanceType": "m6i.xlarge",
		"tags": []any{map[string]any{"name": "x", "value": "1"}, map[string]any{"name": "y", "value": "2"}}}
	if zone != "" {
		s["placement"] = map[string]any{"availabilityZone": zone}
		s["subnet"] = map[string]any{"id": "subnet-" + zone}
	}
	return of(s)
}

func of(s map[string]any) machinev1beta1.ProviderSpec {
	raw, _ := json.Marshal(s)
	return machinev1beta1.ProviderSpec{Value: &runtime.RawExtension{Raw: raw}}
}

func running(name, zone string, age int) machinev1beta1.Machine {
	yes, phase := true, "Running"
	return machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(-100*time.Hour + time.Duration(age)*time.Minute)),
			Labels:          map[string]string{"role": "master"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ControlPlaneMachineSet", Name: "cluster", UID: "set", Controller: &yes}},
		},
		Spec:   machinev1beta1.MachineSpec{ProviderSpec: spec(zone)},
		Status: machinev1beta1.MachineStatus{Phase: &phase, NodeRef: &corev1.ObjectReference{Name: name}},
	}
}

func node(name string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-99 * time.Hour))}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
}

// The changes of the cases.

func template(v *controlplane.View) *machinev1.OpenShiftMachineV1Beta1MachineTemplate {
	return v.Set.Spec.Template.OpenShiftMachineV1Beta1Machine
}

func want(key string, value any) func(*controlplane.View) {
	return func(v *controlplane.View) { edit(&template(v).Spec.ProviderSpec, key, value) }
}

func edit(p *machinev1beta1.ProviderSpec, key string, value any) {
	var s map[string]any
	_ = json.Unmarshal(p.Value.Raw, &s)
	if s[key] = value; value == nil {
		delete(s, key)
	}
	*p = of(s)
}

func larger(v *controlplane.View) { want("instanceType", "m6i.2xlarge")(v) }

func strategy(s machinev1.ControlPlaneMachineSetStrategyType) func(*controlplane.View) {
	return func(v *controlplane.View) { v.Set.Spec.Strategy.Type = s }
}

func on(i int, do func(*machinev1beta1.Machine)) func(*controlplane.View) {
	return func(v *controlplane.View) { do(&v.Machines[i]) }
}

func going(m *machinev1beta1.Machine) { m.DeletionTimestamp = &metav1.Time{Time: noon} }

// inZones puts the Machines where they are not to be.
func inZones(names ...string) change {
	return func(v *controlplane.View) {
		for i, zone := range names {
			v.Machines[i].Spec.ProviderSpec = spec(zone)
		}
	}
}

func failed(m *machinev1beta1.Machine) {
	phase := "Failed"
	m.Status.Phase = &phase
}

// terminated is a Machine of Cluster API's whose instance is gone.
func terminated(m *machinev1beta1.Machine) {
	m.Status.AuthoritativeAPI, m.Status.ErrorReason = machinev1beta1.MachineAuthorityClusterAPI, new(machinev1beta1.UpdateMachineError)
	m.Status.Conditions = []machinev1beta1.Condition{{Type: machinev1beta1.InstanceExistsCondition, Status: corev1.ConditionFalse, Reason: "InstanceTerminated"}}
}

// erroneous is one whose instance there is.
func erroneous(m *machinev1beta1.Machine) {
	terminated(m)
	m.Status.Conditions = nil
}

func dangling(i int) change {
	return func(v *controlplane.View) {
		v.Nodes = slices.DeleteFunc(v.Nodes, func(n corev1.Node) bool { return n.Name == v.Machines[i].Name })
	}
}

// elsewhere makes the Node of a Machine one that is none of the control plane's.
func elsewhere(i int) change {
	return func(v *controlplane.View) {
		v.OtherNodes = append(v.OtherNodes, node(v.Machines[i].Name))
		dangling(i)(v)
	}
}

func without(i int) change {
	return func(v *controlplane.View) {
		dangling(i)(v)
		v.Machines = slices.Delete(v.Machines, i, i+1)
	}
}

// with adds a Machine as the set would make it now, that has run ever since or, young, has no Node yet.
func with(name, zone string, young bool) func(*controlplane.View) {
	return func(v *controlplane.View) {
		m := running(name, zone, 500+len(v.Machines))
		m.Spec.ProviderSpec = template(v).Spec.ProviderSpec
		edit(&m.Spec.ProviderSpec, "placement", map[string]any{"availabilityZone": zone})
		edit(&m.Spec.ProviderSpec, "subnet", map[string]any{"id": "subnet-" + zone})
		if young {
			phase := "Provisioning"
			m.Status = machinev1beta1.MachineStatus{Phase: &phase}
		} else {
			v.Nodes = append(v.Nodes, node(name))
		}
		v.Machines = append(v.Machines, m)
	}
}

func notReady(i int) func(*controlplane.View) {
	return func(v *controlplane.View) { v.Nodes[i].Status.Conditions = nil }
}

func nobodys(m *machinev1beta1.Machine) { m.OwnerReferences = nil }

func madeByASet(m *machinev1beta1.Machine) {
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, controlplane.MadeFromAnnotation, "of a former template")
}

// formerly gives a Machine a set of a name that is no more as its controller.
func formerly(name string) func(*machinev1beta1.Machine) {
	return func(m *machinev1beta1.Machine) {
		m.OwnerReferences[0].APIVersion, m.OwnerReferences[0].Name, m.OwnerReferences[0].UID = "machine.openshift.io/v1", name, "former"
	}
}

type change = func(*controlplane.View)

func TestPlan(t *testing.T) {
	inactive := func(v *controlplane.View) { v.Set.Spec.State = machinev1.ControlPlaneMachineSetStateInactive }
	for sentence, c := range map[string]struct {
		do       []change
		steps    []string
		problems []string
		waits    string
	}{
		"nothing to do":                                                 {},
		"a set that is not active does nothing":                         {do: []change{inactive, larger}},
		"failure domains in another order change nothing":               {do: []change{func(v *controlplane.View) { template(v).FailureDomains.AWS = zones("c", "a", "b") }}},
		"tags in another order change nothing":                          {do: []change{want("tags", []any{map[string]any{"name": "y", "value": "2"}, map[string]any{"name": "x", "value": "1"}})}},
		"what a type always says is not a difference":                   {do: []change{want("deviceIndex", 0)}},
		"an empty object that means something is one":                   {do: []change{want("spotMarketOptions", map[string]any{})}, steps: []string{"Create 0 in a"}},
		"a field that nobody has heard of is":                           {do: []change{want("warpFactor", 9)}, steps: []string{"Create 0 in a"}},
		"a larger instance: the first index is renewed":                 {do: []change{larger}, steps: []string{"Create 0 in a"}},
		"one that is not ready is renewed first":                        {do: []change{larger, notReady(2)}, steps: []string{"Create 2 in c"}},
		"its replacement is not ready yet":                              {do: []change{larger, with("c-master-x-0", "a", true)}, waits: "c-master-x-0 is not ready yet"},
		"its replacement is ready":                                      {do: []change{larger, with("c-master-x-0", "a", false)}, steps: []string{"Delete c-master-0"}},
		"one that is not ready stays until the new one is":              {do: []change{larger, notReady(0), with("c-master-x-0", "a", true)}, waits: "c-master-x-0 is not ready yet"},
		"the old one is going":                                          {do: []change{larger, with("c-master-x-0", "a", false), on(0, going)}, waits: "c-master-0 is being deleted"},
		"the old one is gone":                                           {do: []change{larger, with("c-master-x-0", "a", false), without(0)}, steps: []string{"Create 1 in b"}},
		"OnDelete waits for a person":                                   {do: []change{larger, strategy("OnDelete")}, waits: "a person to delete outdated Machines: c-master-0 (instanceType m6i.xlarge → m6i.2xlarge), c-master-1 (instanceType m6i.xlarge → m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"},
		"OnDelete replaces what a person deletes":                       {do: []change{larger, strategy("OnDelete"), on(1, going)}, steps: []string{"Create 1 in b"}},
		"Recreate deletes first":                                        {do: []change{larger, strategy("Recreate")}, steps: []string{"Delete c-master-0"}},
		"Recreate makes nothing while the old one is going":             {do: []change{larger, strategy("Recreate"), on(0, going)}, waits: "c-master-0 is being deleted"},
		"Recreate makes the new one when the old one is gone":           {do: []change{larger, strategy("Recreate"), without(0)}, steps: []string{"Create 0 in a"}},
		"a Machine that somebody deleted is replaced":                   {do: []change{on(1, going)}, steps: []string{"Create 1 in b"}},
		"all three deleted, of which none has gone yet":                 {do: []change{on(0, going), on(1, going), on(2, going)}, steps: []string{"Create 0 in a"}},
		"all three deleted are replaced one by one":                     {do: []change{on(0, going), on(1, going), on(2, going), with("c-master-x-0", "a", false)}, waits: "c-master-0 is being deleted"},
		"a Machine that is gone is recreated":                           {do: []change{without(2)}, steps: []string{"Create 2 in c"}},
		"two of one index: the younger goes":                            {do: []change{with("c-master-x-0", "a", false)}, steps: []string{"Delete c-master-x-0"}},
		"two of one index: the one that is not ready goes":              {do: []change{with("c-master-x-0", "a", false), notReady(0)}, steps: []string{"Delete c-master-0"}},
		"a replacement that is outdated itself gives way":               {do: []change{with("c-master-x-0", "a", true), larger}, steps: []string{"Delete c-master-x-0"}},
		"also where it is ready":                                        {do: []change{with("c-master-x-0", "a", false), larger}, steps: []string{"Delete c-master-x-0"}},
		"but not the only one that is ready":                            {do: []change{with("c-master-x-0", "a", false), larger, notReady(0)}, steps: []string{"Delete c-master-0"}},
		"a template that is as it was takes the replacement back":       {do: []change{larger, with("c-master-x-0", "a", true), want("instanceType", "m6i.xlarge")}, steps: []string{"Delete c-master-x-0"}},
		"two of one index, of which one is lost and one new: both stay": {do: []change{with("c-master-x-0", "a", true), notReady(0)}, waits: "c-master-0 is not ready yet"},
		"a lost one that the template has come back to goes":            {do: []change{larger, with("c-master-x-0", "a", false), want("instanceType", "m6i.xlarge"), notReady(0)}, steps: []string{"Delete c-master-0"}},
		"one that is replaced goes although another index is lost":      {do: []change{larger, with("c-master-x-0", "a", false), notReady(1)}, steps: []string{"Delete c-master-0"}},
		"but not where too few others are ready": {do: []change{larger, with("c-master-x-0", "a", false), notReady(1), notReady(2)},
			waits: "the Nodes of other control plane Machines to be ready: without c-master-0, only 1 of 3 indexes would have a ready Node, and etcd needs 2"},
		"nor does one that is too many": {do: []change{with("c-master-x-0", "a", false), notReady(1), notReady(2)},
			waits: "the Nodes of other control plane Machines to be ready: without c-master-x-0, only 1 of 3 indexes would have a ready Node, and etcd needs 2"},
		"nor is a person to do it under OnDelete": {do: []change{with("c-master-x-0", "a", false), notReady(1), notReady(2), strategy("OnDelete")},
			waits: "a person to delete Machines that are no longer needed: c-master-x-0 (index 0 has c-master-0 already), but not before the Nodes of other " +
				"control plane Machines are ready: without c-master-x-0, only 1 of 3 indexes would have a ready Node, and etcd needs 2"},
		"nor the outdated one of two": {do: []change{with("c-master-x-0", "a", false), larger, notReady(1), notReady(2)},
			waits: "the Nodes of other control plane Machines to be ready: without c-master-x-0, only 1 of 3 indexes would have a ready Node, and etcd needs 2"},
		"one that is not ready itself goes all the same":          {do: []change{with("c-master-x-0", "a", false), notReady(0), notReady(1), notReady(2)}, steps: []string{"Delete c-master-0"}},
		"those that are being deleted serve until they have gone": {do: []change{larger, with("c-master-x-0", "a", false), on(1, going), on(2, going)}, steps: []string{"Delete c-master-0"}},
		"a vacant index is filled meanwhile":                      {do: []change{larger, with("c-master-x-0", "a", false), notReady(2), without(1)}, steps: []string{"Create 1 in b"}},
		"indexes with a gap are kept":                             {do: []change{without(2), with("c-master-x-5", "c", false)}},
		"a Machine without an index takes the free one":           {do: []change{without(0), with("anna", "a", false)}},
		"and keeps it while it is replaced":                       {do: []change{without(0), with("anna", "a", false), larger, with("c-master-x-0", "a", false)}, steps: []string{"Delete anna"}},
		"a zone that the set no longer has":                       {do: []change{func(v *controlplane.View) { template(v).FailureDomains.AWS = zones("a", "b", "d") }}, steps: []string{"Create 2 in d"}},
		"other subnets move no Machine to another zone": {do: []change{func(v *controlplane.View) {
			all := *zones("c", "b", "a")
			for i := range all {
				id := "other-" + *all[i].Subnet.ID
				all[i].Subnet.ID = &id
			}
			template(v).FailureDomains.AWS = &all
		}}, steps: []string{"Create 0 in a"}},
		"two Machines in one zone":   {do: []change{without(1), with("c-master-x-1", "a", false)}, steps: []string{"Create 1 in b"}},
		"a label is put on in place": {do: []change{func(v *controlplane.View) { template(v).ObjectMeta.Labels["team"] = "x" }}, steps: []string{"Amend c-master-0", "Amend c-master-1", "Amend c-master-2"}},
		"what the Machine controller writes is not fought over": {do: []change{func(v *controlplane.View) {
			template(v).ObjectMeta.Annotations = map[string]string{"machine.openshift.io/instance-state": "running"}
			for _, name := range []string{"zone", "region", "instance-type"} {
				template(v).ObjectMeta.Labels["machine.openshift.io/"+name] = "a"
				for i := range v.Machines {
					v.Machines[i].Labels["machine.openshift.io/"+name] = "b"
				}
			}
		}}},
		"nor is the label by which it finds the instance": {do: []change{func(v *controlplane.View) {
			template(v).ObjectMeta.Labels["machine.openshift.io/cluster-api-cluster"] = "other"
		}}},
		"a Machine of a former set of this name is taken over": {do: []change{on(1, formerly("cluster"))}, steps: []string{"Adopt c-master-1"}},
		"also where it is being deleted, it is no other's":     {do: []change{on(1, formerly("cluster")), on(1, going)}, steps: []string{"Create 1 in b"}},
		"one of a set of another name is not":                  {do: []change{on(1, formerly("mine"))}, problems: []string{"MachinesOwnedByAnother c-master-1"}},
		"a hook of etcd's is nobody else's": {do: []change{on(0, func(m *machinev1beta1.Machine) {
			m.Spec.LifecycleHooks.PreDrain = []machinev1beta1.LifecycleHook{{Name: "EtcdQuorumOperator", Owner: "clusteroperator/etcd"}}
		})}},
		"a Machine without a controller is adopted":     {do: []change{on(1, func(m *machinev1beta1.Machine) { m.OwnerReferences = nil })}, steps: []string{"Adopt c-master-1"}},
		"a Machine whose Node is gone holds nothing up": {do: []change{larger, with("c-master-x-0", "a", false), without(0), dangling(1)}, steps: []string{"Create 2 in c"}},

		"a person's Machine at an index that is taken":       {do: []change{with("mine-0", "a", false), on(3, nobodys)}, problems: []string{"IndexTaken mine-0 (index 0, beside c-master-0)"}},
		"also where it is not ready":                         {do: []change{with("mine-0", "a", true), on(3, nobodys)}, problems: []string{"IndexTaken mine-0 (index 0, beside c-master-0)"}},
		"or has what the other lacks":                        {do: []change{larger, with("mine-0", "a", false), on(3, nobodys)}, problems: []string{"IndexTaken mine-0"}},
		"or both lack it":                                    {do: []change{with("mine-0", "a", false), on(3, nobodys), larger}, problems: []string{"IndexTaken mine-0"}},
		"under OnDelete":                                     {do: []change{with("mine-0", "a", false), on(3, nobodys), strategy("OnDelete")}, problems: []string{"IndexTaken mine-0"}},
		"under Recreate":                                     {do: []change{with("mine-0", "a", false), on(3, nobodys), strategy("Recreate")}, problems: []string{"IndexTaken mine-0"}},
		"a copy of a Machine that the set made, owner aside": {do: []change{with("c-master-copy-0", "a", false), on(3, nobodys), on(3, madeByASet)}, problems: []string{"IndexTaken c-master-copy-0"}},
		"a person has chosen his own":                        {do: []change{with("mine-0", "a", false), on(3, nobodys), on(0, going)}, steps: []string{"Adopt mine-0"}, waits: "c-master-0 is being deleted"},
		"a person has chosen the other":                      {do: []change{with("mine-0", "a", false), on(3, nobodys), on(3, going)}, waits: "mine-0 is being deleted"},
		"a person's Machine where there is none is taken up": {do: []change{without(0), with("mine-0", "a", false), on(2, nobodys)}, steps: []string{"Adopt mine-0"}},
		"the set was deleted in mid-rollout, and is there again": {do: []change{larger, on(0, nobodys), with("c-master-abcde-0", "a", false), on(3, nobodys), on(3, madeByASet)},
			steps: []string{"Adopt c-master-0", "Adopt c-master-abcde-0", "Delete c-master-0"}},
		"of two that are nobody's a person chooses": {do: []change{on(0, nobodys), with("mine-0", "a", false), on(3, nobodys)}, problems: []string{"IndexTaken c-master-0 (index 0, beside mine-0), mine-0 (index 0, beside c-master-0)"}},
		"OnDelete deletes none of two that are as they should be": {do: []change{with("c-master-x-0", "a", false), strategy("OnDelete")},
			waits: "a person to delete Machines that are no longer needed: c-master-x-0 (index 0 has c-master-0 already)"},

		"a Machine of somebody else's": {do: []change{larger, on(1, func(m *machinev1beta1.Machine) { m.OwnerReferences[0].UID = "other" })}, problems: []string{"MachinesOwnedByAnother c-master-1"}},
		"a Node without a Machine":     {do: []change{larger, func(v *controlplane.View) { v.Nodes = append(v.Nodes, node("stray")) }}, problems: []string{"UnmanagedNodes stray"}},
		"a Node that has just joined": {do: []change{larger, func(v *controlplane.View) {
			n := node("young")
			n.CreationTimestamp = metav1.NewTime(noon.Add(-time.Minute))
			v.Nodes = append(v.Nodes, n)
		}}, steps: []string{"Create 0 in a"}},
		"a worker's Machine that got the labels": {do: []change{with("infra-1", "b", false), on(3, func(m *machinev1beta1.Machine) { m.OwnerReferences = nil }), elsewhere(3)}, problems: []string{"NotControlPlane infra-1"}},
		"also where it differs":                  {do: []change{with("infra-1", "b", false), larger, on(3, func(m *machinev1beta1.Machine) { m.OwnerReferences = nil }), elsewhere(3)}, problems: []string{"NotControlPlane infra-1"}},
		"a Machine whose Node has just joined without its role": {do: []change{larger, with("c-master-x-0", "a", false), elsewhere(3), func(v *controlplane.View) {
			v.OtherNodes[0].CreationTimestamp = metav1.NewTime(noon.Add(-time.Minute))
		}}, waits: "c-master-x-0 is not ready yet"},
		"a worker's Machine that is being deleted": {do: []change{with("infra-1", "b", false), on(3, going), elsewhere(3)}, waits: "infra-1 is being deleted"},
		"four indexes":                                     {do: []change{larger, with("c-master-x-3", "a", false)}, problems: []string{"ExcessIndexes c-master-x-3"}},
		"a replacement that failed":                        {do: []change{larger, with("c-master-x-0", "a", true), on(3, failed)}, problems: []string{"FailedMachines c-master-x-0"}},
		"a replacement whose instance Cluster API lost":    {do: []change{larger, with("c-master-x-0", "a", true), on(3, terminated)}, problems: []string{"FailedMachines c-master-x-0"}},
		"a replacement that has an error and its instance": {do: []change{larger, with("c-master-x-0", "a", true), on(3, erroneous)}, waits: "c-master-x-0 is not ready yet"},
		"one that failed alone stops nothing else":         {do: []change{on(0, failed), on(1, going)}, steps: []string{"Create 1 in b"}},
		"also where others are outdated":                   {do: []change{on(0, failed), larger}, steps: []string{"Create 0 in a"}},
		"one that never had a Node is waited for":          {do: []change{with("c-master-x-0", "a", true), without(0), on(2, failed), func(v *controlplane.View) { edit(&v.Machines[0].Spec.ProviderSpec, "keyName", "old") }}, waits: "c-master-x-0 has failed before it had a Node: fix what its status.errorMessage names, then delete it"},
		"but a deleted one is replaced all the same":       {do: []change{with("c-master-x-0", "a", true), without(0), on(2, failed), on(0, going)}, steps: []string{"Create 1 in b"}},
		"OnDelete in mid-rollout":                          {do: []change{larger, with("c-master-x-0", "a", false), strategy("OnDelete")}, waits: "a person to delete Machines that are no longer needed: c-master-0 (its replacement is c-master-x-0); a person to delete outdated Machines: c-master-1 (instanceType m6i.xlarge → m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"},
		"OnDelete with two at an index, both outdated": {do: []change{with("c-master-x-0", "a", false), larger, strategy("OnDelete"), on(1, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "instanceType", "m6i.2xlarge") }), on(2, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "instanceType", "m6i.2xlarge") })},
			waits: "a person to delete Machines that are no longer needed: c-master-x-0 (it is outdated (instanceType m6i.xlarge → m6i.2xlarge). c-master-0 at the " +
				"same index is outdated too, so this Machine is not needed)"},
		"all in one zone, of which one is being deleted: that one moves": {do: []change{inZones("a", "a", "a"), on(0, going)}, steps: []string{"Create 0 in b"}},
		"all in one zone, of which one is outdated: that one moves":      {do: []change{inZones("a", "a", "a"), on(0, func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "keyName", "old") })}, steps: []string{"Create 0 in b"}},
		"one that failed and was deleted":                                {do: []change{larger, with("c-master-x-0", "a", true), on(3, failed), on(3, going)}, waits: "c-master-x-0 is being deleted"},
		"no Machine is ready":                                            {do: []change{larger, notReady(0), notReady(1), notReady(2)}, problems: []string{"NoReadyMachines c-master-0"}},
		"no Machine at all":                                              {do: []change{without(0), without(0), without(0)}, problems: []string{"NoReadyMachines "}},
		"no providerSpec":                                                {do: []change{func(v *controlplane.View) { template(v).Spec.ProviderSpec.Value = nil }}, problems: []string{"InvalidSet providerSpec.value"}},
		"no template":                                                    {do: []change{func(v *controlplane.View) { v.Set.Spec.Template.OpenShiftMachineV1Beta1Machine = nil }}, problems: []string{"InvalidSet providerSpec.value"}},
		"a providerSpec that is no object":                               {do: []change{func(v *controlplane.View) { template(v).Spec.ProviderSpec.Value.Raw = []byte(`[]`) }}, problems: []string{"InvalidSet providerSpec.value"}},
		"a domain that the Infrastructure does not know": {do: []change{func(v *controlplane.View) {
			v.Infrastructure.Status.PlatformStatus.Type = configv1.VSpherePlatformType
			template(v).FailureDomains = &machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: "east"}}}
		}}, problems: []string{"InvalidSet vsphere[0].name"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			v := world()
			for _, do := range c.do {
				do(v)
			}
			p := controlplane.Make(*v)
			if d := cmp.Diff(c.steps, steps(p)); d != "" {
				t.Errorf("steps (-want +got):\n%s", d)
			}
			if p.Waits != c.waits {
				t.Errorf("waits for %q, want %q", p.Waits, c.waits)
			}
			var problems []string
			for _, problem := range p.Problems {
				problems = append(problems, string(problem.Reason)+" "+problem.Message)
			}
			if len(problems) != len(c.problems) {
				t.Fatalf("problems: %q, want %q", problems, c.problems)
			}
			for i := range problems {
				reason, name, _ := strings.Cut(c.problems[i], " ")
				if !strings.HasPrefix(problems[i], reason+" ") || !strings.Contains(problems[i], name) {
					t.Errorf("problem %q, want %q", problems[i], c.problems[i])
				}
			}
		})
	}
}

func steps(p controlplane.Plan) []string {
	var out []string
	for _, s := range p.Steps() {
		if s.Verb == controlplane.Create && s.Index.Domain != nil {
			out = append(out, fmt.Sprintf("Create %d in %s", s.Index.Number, s.Index.Domain.Name))
		} else {
			out = append(out, fmt.Sprintf("%s %s", s.Verb, s.Machine.Name))
		}
	}
	return out
}

// TestARolloutComesToItsEnd plays plans forward, from any disorder: never are there more Machines than one beyond the replicas, never is a Machine that
// is ready taken before another of its index is, and in the end all is as the set has it, however often somebody changes the template on the way.
func TestARolloutComesToItsEnd(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range stories.Times(10, 40) {
		play(t, r)
	}
}

func play(t *testing.T, r *rand.Rand) {
	t.Helper()
	v := world()
	disorders := []change{larger, want("keyName", "k"), func(v *controlplane.View) { template(v).FailureDomains.AWS = zones("d", "b", "a") }, on(0, going),
		on(1, going), notReady(2), dangling(2)}
	for _, do := range disorders {
		if r.IntN(2) == 0 {
			do(v)
		}
	}
	if r.IntN(4) == 0 {
		without(2)(v)
	}
	if p := controlplane.Make(*v); len(p.Problems) > 0 && p.Problems[0].Reason == controlplane.NoReadyMachines {
		return // two are being deleted and the third is not ready: nothing is done
	}
	made, minds := 0, r.IntN(4)
	for range 100 {
		if minds > 0 && r.IntN(4) == 0 {
			minds--
			want("instanceType", []string{"m6i.xlarge", "m6i.2xlarge", "m6i.4xlarge"}[r.IntN(3)])(v)
		}
		p := controlplane.Make(*v)
		if len(p.Problems) > 0 {
			t.Fatalf("problems: %v", p.Problems)
		}
		done := true
		for _, s := range p.Steps() {
			done = false
			switch s.Verb {
			case controlplane.Create:
				made++
				v.Machines = append(v.Machines, machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("c-master-n%04d-%d", made, s.Index.Number), CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(made) * time.Minute)),
					Labels: map[string]string{"role": "master"}, OwnerReferences: v.Machines[0].OwnerReferences,
				}, Spec: machinev1beta1.MachineSpec{ProviderSpec: of(s.Index.Spec)}})
			case controlplane.Delete:
				if !slices.ContainsFunc(s.Index.Machines, func(m controlplane.MachineState) bool {
					return (m.Ready || !s.Machine.Ready) && m.Name != s.Machine.Name
				}) {
					t.Fatalf("%s was deleted before another of its index was ready", s.Machine.Name)
				}
				for i := range v.Machines {
					if v.Machines[i].Name == s.Machine.Name {
						going(&v.Machines[i])
					}
				}
			}
		}
		if len(v.Machines) > 4 {
			t.Fatalf("%d Machines", len(v.Machines))
		}
		if !moveOn(v, r) && done && minds == 0 {
			if n := p.Numbers(); n.Replicas != 3 || slices.ContainsFunc(p.Indexes, func(i controlplane.Index) bool { return !i.Machines[0].Updated() }) {
				t.Fatalf("at rest with %+v, waiting for %q: %v", n, p.Waits, p.Forecast())
			}
			return
		}
	}
	t.Fatal("no end")
}

// moveOn lets one thing happen that the Machine controller does: a new Machine gets ready, or the deletion of one ends, once its index has another (etcd's
// hook). It reports whether there was anything.
func moveOn(v *controlplane.View, r *rand.Rand) bool {
	for _, i := range r.Perm(len(v.Machines)) {
		m := &v.Machines[i]
		if m.DeletionTimestamp == nil && m.Status.NodeRef == nil {
			phase := "Running"
			m.Status = machinev1beta1.MachineStatus{Phase: &phase, NodeRef: &corev1.ObjectReference{Name: m.Name}}
			v.Nodes = append(v.Nodes, node(m.Name))
			return true
		}
		ready := slices.ContainsFunc(v.Machines, func(o machinev1beta1.Machine) bool {
			return o.Name != m.Name && o.Name[len(o.Name)-1] == m.Name[len(m.Name)-1] && o.Status.NodeRef != nil
		})
		if m.DeletionTimestamp != nil && (ready || m.Status.NodeRef == nil) {
			v.Nodes = slices.DeleteFunc(v.Nodes, func(n corev1.Node) bool { return n.Name == m.Name })
			v.Machines = slices.Delete(v.Machines, i, i+1)
			return true
		}
	}
	return false
}

func TestForecast(t *testing.T) {
	for sentence, c := range map[string]struct {
		do   []change
		want []string
	}{
		"nothing": {want: []string{"this will do nothing: all 3 control plane Machines match the template"}},
		"a rollout of two": {do: []change{larger, without(1), with("c-master-x-1", "b", false)}, want: []string{
			"this will replace 2 of 3 control plane Machines, one at a time: c-master-0 (instanceType m6i.xlarge → m6i.2xlarge), c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"}},
		"inactive": {do: []change{larger, func(v *controlplane.View) { v.Set.Spec.State = "Inactive" }, strategy("OnDelete")}, want: []string{
			"the set is Inactive. If it were Active, it would replace no Machine by itself (strategy OnDelete): 3 of 3 control plane Machines are outdated, and " +
				"each is replaced once you delete it: c-master-0 (instanceType m6i.xlarge → m6i.2xlarge), c-master-1 (instanceType m6i.xlarge → m6i.2xlarge), " +
				"c-master-2 (instanceType m6i.xlarge → m6i.2xlarge)"}},
		"in place": {do: []change{func(v *controlplane.View) { template(v).ObjectMeta.Labels["team"] = "x" }}, want: []string{
			"this will change in place metadata.labels.team none → x (c-master-0, c-master-1, c-master-2)"}},
		"a gap": {do: []change{without(2)}, want: []string{"this will create 1 control plane Machine: at index 2 in c"}},
		"degraded": {do: []change{func(v *controlplane.View) { v.Nodes = append(v.Nodes, node("stray")) }}, want: []string{
			"this will do nothing until this problem is fixed: These control plane Nodes have no Machine that the set selects: stray. Run the command, where one " +
				"is shown. Otherwise delete the Node, or create its Machine by hand"}},
	} {
		t.Run(sentence, func(t *testing.T) {
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

// What the Infrastructure said is not known any more: a restore without status leaves one without a platform.
func TestAPlatformThatIsNotKnown(t *testing.T) {
	lost := map[string]change{
		"no Infrastructure":                 func(v *controlplane.View) { v.Infrastructure = nil },
		"an Infrastructure without status":  func(v *controlplane.View) { v.Infrastructure.Status = configv1.InfrastructureStatus{} },
		"a platform without a type":         func(v *controlplane.View) { v.Infrastructure.Status.PlatformStatus.Type = "" },
		"another platform than the set has": func(v *controlplane.View) { v.Infrastructure.Status.PlatformStatus.Type = configv1.AzurePlatformType },
		"one that has no failure domains": func(v *controlplane.View) {
			v.Infrastructure.Status.PlatformStatus.Type = configv1.BareMetalPlatformType
		},
	}
	for sentence, lose := range lost {
		t.Run(sentence, func(t *testing.T) {
			v := reviewed()
			lose(v)
			p := controlplane.Make(*v)
			if got := p.Steps(); len(got) > 0 || len(p.Problems) == 0 {
				t.Errorf("steps %v, problems %v: want no step, and a problem", steps(p), p.Problems)
			}
			if p.Conditions()[2].Status != metav1.ConditionTrue {
				t.Errorf("Degraded is %+v", p.Conditions()[2])
			}
			for does, r := range map[string]row{
				"created":   {in: changes(lose), create: true},
				"activated": {in: changes(lose), stored: changes(inactive), do: changes(activate)},
			} {
				if j := admission.Rules().Judge(r.change(t)); j.Allowed() {
					t.Errorf("it may be %s", does)
				}
			}
			if j := admission.Rules().Judge((row{in: changes(lose), do: changes(larger)}).change(t)); !j.Allowed() {
				t.Errorf("an active set may not be changed: %v", j)
			}
		})
	}
	for sentence, lose := range map[string]change{"no Infrastructure": lost["no Infrastructure"],
		"an Infrastructure without status": lost["an Infrastructure without status"]} {
		t.Run(sentence+", and a set without failure domains", func(t *testing.T) {
			v := reviewed()
			noDomains(v)
			for i := range v.Machines {
				v.Machines[i].Spec.ProviderSpec = template(v).Spec.ProviderSpec
				edit(&v.Machines[i].Spec.ProviderSpec, "tags", []any{map[string]any{"name": "y", "value": "2"}, map[string]any{"name": "x", "value": "1"}})
				edit(&v.Machines[i].Spec.ProviderSpec, "deviceIndex", 0)
			}
			lose(v)
			if p := controlplane.Make(*v); len(p.Steps()) > 0 || len(p.Problems) > 0 {
				t.Errorf("steps %v, problems %v: its providerSpec's kind tells which tags are equal", p.Steps(), p.Problems)
			}
			// The region that the Machines spell out and the template leaves to the Infrastructure is the same only for who knows it.
			for i := range v.Machines {
				edit(&v.Machines[i].Spec.ProviderSpec, "placement", map[string]any{"region": "r"})
			}
			p := controlplane.Make(*v)
			if got := p.Steps(); len(got) > 0 || len(p.Problems) != 1 || p.Problems[0].Reason != controlplane.UnknownPlatform {
				t.Errorf("steps %v, problems %v: the control plane would be replaced for what the Infrastructure no longer says", steps(p), p.Problems)
			}
			strategy(machinev1.OnDelete)(v)
			on(1, going)(v)
			if p := controlplane.Make(*v); len(p.Problems) > 0 || len(p.Steps()) != 1 {
				t.Errorf("under OnDelete: steps %v, problems %v: who deletes a Machine is asking for another", steps(p), p.Problems)
			}
		})
	}
}

func TestAnAmendmentLeavesOutWhatIsNotTheTemplates(t *testing.T) {
	v := world()
	template(v).ObjectMeta.Labels["machine.openshift.io/zone"], template(v).ObjectMeta.Labels["team"] = "a", "x"
	template(v).ObjectMeta.Labels["machine.openshift.io/cluster-api-cluster"] = "other"
	p := controlplane.Make(*v)
	want := map[string]any{"metadata": map[string]any{"labels": map[string]any{"role": "master", "team": "x"}}}
	if d := cmp.Diff(want, p.Amendment(p.Indexes[0].Machines[0])); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
