// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

func machineObject(t *testing.T, m *machinev1beta1.Machine) *policies.Object {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	o, err := policies.ParseObject(raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestAMachineThatSomebodyAdds: a warning has what the set makes of it, when it is created or gets the labels.
func TestAMachineThatSomebodyAdds(t *testing.T) {
	owned := func(m *machinev1beta1.Machine) { m.OwnerReferences = running("x", "a", 0).OwnerReferences }
	large := func(m *machinev1beta1.Machine) { edit(&m.Spec.ProviderSpec, "instanceType", "m6i.2xlarge") }
	stops := func(text string) []string {
		return []string{"the ControlPlaneMachineSet will do nothing until this problem is fixed: " + text}
	}
	remedy := ". At each of these indexes delete the Machine that is not needed, once etcd is healthy without it. Or remove from one of the two a label by " +
		"which the set selects it (" +
		metav1.FormatLabelSelector(&reviewed().Set.Spec.Selector) + ")"
	for message, c := range map[string]struct {
		do   []change
		name string
		of   []func(*machinev1beta1.Machine)
		by   policies.Actor
		// labelled: the Machine is there, and gets the labels.
		labelled bool
		want     []string
	}{
		"at an index that is taken": {name: "mine-0",
			want: stops("The set neither owns nor created these Machines, and each has the same index (the number at the end of the name) as another Machine: " +
				"mine-0 (index " +
				"0, beside c-master-0)" + remedy)},
		"by a label": {name: "mine-0", labelled: true,
			want: stops("The set neither owns nor created these Machines, and each has the same index (the number at the end of the name) as another Machine: " +
				"mine-0 (index " +
				"0, beside c-master-0)" + remedy)},
		"at one more index": {name: "mine-7",
			want: stops("The control plane's Machines have 4 indexes (the number at the end of the name), but the set has 3 replicas: 0 (c-master-0), 1 " +
				"(c-master-1), 2 (c-master-2), 7 (mine-7). Delete the " +
				"Machines of each index that is not needed, or remove the label by which the set selects them")},
		"a copy, its owner included": {name: "mine-0", of: []func(*machinev1beta1.Machine){owned}, want: []string{"the ControlPlaneMachineSet will delete " +
			"mine-0 (index 0 has c-master-0 already)"}},
		"at an index that has none": {do: changes(without(0)), name: "mine-0"},
		"there, and it differs": {do: changes(without(0)), name: "mine-0", of: []func(*machinev1beta1.Machine){large},
			want: []string{"the ControlPlaneMachineSet will delete mine-0 (it differs from the template: instanceType m6i.2xlarge → m6i.xlarge)"}},
		"there, and it differs, under OnDelete": {do: changes(without(0), strategy("OnDelete")), name: "mine-0", of: []func(*machinev1beta1.Machine){large}},
		"in the place of one that is deleted":   {do: changes(on(0, going)), name: "mine-0"},
		"where the set has stopped already":     {do: changes(joined("mine-0", "a"), on(3, nobodys), on(0, going), on(3, going)), name: "mine-0"},
		"under a set that does nothing":         {do: changes(inactive), name: "mine-0"},
		"a worker's":                            {name: "mine-0", of: []func(*machinev1beta1.Machine){func(m *machinev1beta1.Machine) { m.Labels = nil }}},
		"the mirror's":                          {name: "mine-0", by: policies.Poundlock},
		"OpenShift's operator's":                {name: "mine-0", by: policies.ControlPlaneOperator},
	} {
		t.Run(message, func(t *testing.T) {
			v := reviewed()
			for _, do := range c.do {
				do(v)
			}
			m := machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Name: c.name, Labels: controlPlaneLabels()}, Spec: *v.Machines[len(v.Machines)-1].Spec.DeepCopy()}
			edit(&m.Spec.ProviderSpec, "placement", map[string]any{"availabilityZone": "a"})
			edit(&m.Spec.ProviderSpec, "subnet", map[string]any{"id": "subnet-a"})
			for _, do := range c.of {
				do(&m)
			}
			change := policies.Change{
				Subject:   policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "m", Name: c.name},
				Operation: admissionv1.Create, New: machineObject(t, &m), Actor: c.by,
			}
			if c.labelled {
				change.Operation = admissionv1.Update
				m.Labels = nil
				change.Old = machineObject(t, &m)
			}
			if asks := admission.Rules().Needs(change); asks.Has(policies.NeedControlPlaneSet) {
				change.Facts.ControlPlane = &policies.ControlPlane{MayRecreate: v.MayRecreate, Machines: v.Machines, Nodes: v.Nodes,
					Infrastructure: v.Infrastructure, Now: v.Now, Set: object(t, v.Set)}
			}
			var got []string
			for _, f := range admission.Rules().Judge(change) {
				if len(f.Denials) > 0 {
					t.Errorf("%s refuses it: %v", f.Rule, f.Denials)
				}
				got = append(got, f.Warnings...)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestAMachineThatReturns: Cluster API has a Machine's load balancers from its infrastructure cluster object, and they count again under the Machine API.
func TestAMachineThatReturns(t *testing.T) {
	for message, c := range map[string]struct {
		do    []change
		alike bool
		by    policies.Actor
		want  []string
	}{
		"and differs": {want: []string{"once Machine API is authoritative for this Machine, the ControlPlaneMachineSet will delete c-master-0 " +
			`(it differs from the template: loadBalancers none → [{"name":"int","type":"network"}])`}},
		"and does not differ":             {alike: true},
		"and differs, under OnDelete":     {do: changes(strategy("OnDelete"))},
		"and differs, of an inactive set": {do: changes(inactive)},
		"by the mirror":                   {by: policies.Poundlock},
	} {
		t.Run(message, func(t *testing.T) {
			v := reviewed()
			balancers := []any{map[string]any{"name": "int", "type": "network"}}
			want("loadBalancers", balancers)(v)
			for i := range v.Machines {
				if v.Machines[i].Labels = controlPlaneLabels(); i > 0 || c.alike {
					edit(&v.Machines[i].Spec.ProviderSpec, "loadBalancers", balancers)
				} else {
					edit(&v.Machines[i].Spec.ProviderSpec, "loadBalancers", nil)
				}
			}
			for _, do := range c.do {
				do(v)
			}
			m := &v.Machines[0]
			m.Spec.AuthoritativeAPI, m.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI, machinev1beta1.MachineAuthorityClusterAPI
			then := m.DeepCopy()
			then.Spec.AuthoritativeAPI = machinev1beta1.MachineAuthorityMachineAPI
			change := policies.Change{
				Subject:   policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "m", Name: m.Name},
				Operation: admissionv1.Update, Old: machineObject(t, m), New: machineObject(t, then), Actor: c.by,
			}
			if d := cmp.Diff(c.want, warnings(t, v, change)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// masters is a control plane under review whose Machines have its labels.
func masters(do []change) *controlplane.View {
	v := reviewed()
	for i := range v.Machines {
		v.Machines[i].Labels = controlPlaneLabels()
	}
	for _, change := range do {
		change(v)
	}
	return v
}

// TestAMachineThatIsEdited: a Machine's providerSpec changes no instance, and the set replaces what differs from its template.
func TestAMachineThatIsEdited(t *testing.T) {
	for message, c := range map[string]struct {
		do    []change
		field string
		by    policies.Actor
		want  []string
	}{
		"so that it differs": {want: []string{"the ControlPlaneMachineSet will delete c-master-0 (it differs from the template: instanceType m6i.metal → " +
			"m6i.xlarge)"}},
		"under OnDelete":     {do: changes(strategy("OnDelete"))},
		"of an inactive set": {do: changes(inactive)},
		"in the boot image":  {field: "ami"},
		"by the mirror":      {by: policies.Poundlock},
	} {
		t.Run(message, func(t *testing.T) {
			v := masters(c.do)
			then, field := v.Machines[0].DeepCopy(), c.field
			if field == "" {
				field = "instanceType"
			}
			edit(&then.Spec.ProviderSpec, field, "m6i.metal")
			change := policies.Change{
				Subject:   policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "m", Name: then.Name},
				Operation: admissionv1.Update, Old: machineObject(t, &v.Machines[0]), New: machineObject(t, then), Actor: c.by,
			}
			if d := cmp.Diff(c.want, warnings(t, v, change)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// nodeless takes the Node of the first Machine away.
func nodeless(v *controlplane.View) { v.Machines[0].Status.NodeRef, v.Nodes = nil, v.Nodes[1:] }

// TestAMachineThatLosesALabel: the set selects Machines by their labels.
func TestAMachineThatLosesALabel(t *testing.T) {
	for message, c := range map[string]struct {
		do    []change
		label string
		by    policies.Actor
		want  []string
	}{
		"by which the set selects it": {label: controlplane.RoleLabel, want: []string{"with these labels the set no longer selects c-master-0, whose instance keeps running: " +
			"the ControlPlaneMachineSet will do nothing until this problem is fixed: These control plane Nodes have no Machine that the set selects: c-master-0 (its " +
			"Machine c-master-0 lacks a label that the set selects by (machine.openshift.io/cluster-api-machine-role=master): kubectl -n  label --overwrite " +
			"machines.machine.openshift.io c-master-0 machine.openshift.io/cluster-api-machine-role=master). Run the command, where one is shown. Otherwise " +
			"delete the Node, or create its Machine by hand"}},
		"while it has no Node yet": {label: controlplane.RoleLabel, do: changes(nodeless), want: []string{"with these labels the set no longer selects c-master-0, whose " +
			"instance keeps running: the ControlPlaneMachineSet will create a Machine at index 0"}},
		"of an inactive set":      {label: controlplane.RoleLabel, do: changes(inactive)},
		"that says nothing":       {label: "mine"},
		"by OpenShift's operator": {label: controlplane.RoleLabel, by: policies.ControlPlaneOperator},
	} {
		t.Run(message, func(t *testing.T) {
			v := masters(c.do)
			v.Machines[0].Labels["mine"] = "1"
			then := v.Machines[0].DeepCopy()
			delete(then.Labels, c.label)
			change := policies.Change{
				Subject:   policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Namespace: "m", Name: then.Name},
				Operation: admissionv1.Update, Old: machineObject(t, &v.Machines[0]), New: machineObject(t, then), Actor: c.by,
			}
			if d := cmp.Diff(c.want, warnings(t, v, change)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// warnings are those of a change's review, which sees the control plane if it asks for that.
func warnings(t *testing.T, v *controlplane.View, change policies.Change) []string {
	t.Helper()
	return warningsWith(t, v, change, nil)
}

// warningsWith are the warnings of a review whose edit gives a mirror in Machine API.
func warningsWith(t *testing.T, v *controlplane.View, change policies.Change, edited *machinev1beta1.Machine) (out []string) {
	t.Helper()
	if admission.Rules().Needs(change).Has(policies.NeedControlPlaneSet) {
		change.Facts.ControlPlane = &policies.ControlPlane{MayRecreate: v.MayRecreate, Machines: v.Machines, Nodes: v.Nodes,
			Infrastructure: v.Infrastructure, Now: v.Now, Set: object(t, v.Set), Edited: edited}
	}
	for _, f := range admission.Rules().Judge(change) {
		out = append(out, f.Warnings...)
	}
	return out
}

// TestOnlyWhatIsAddedIsLookedUp: an update of a Machine that had the labels asks for nothing.
func TestOnlyWhatIsAddedIsLookedUp(t *testing.T) {
	m := running("c-master-0", "a", 0)
	m.Labels = controlPlaneLabels()
	o := machineObject(t, &m)
	c := policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: "Machine", Name: m.Name}, Operation: admissionv1.Update, Old: o, New: o}
	if admission.Rules().Needs(c).Has(policies.NeedControlPlaneSet) {
		t.Error("each update of a control plane Machine reads the control plane")
	}
}

// TestAMachineThatIsEditedInClusterAPI: the set replaces a Machine whose mirror in Machine API differs from the template after an edit of the provider's machine.
func TestAMachineThatIsEditedInClusterAPI(t *testing.T) {
	instance := func(size string) *policies.Object {
		o, err := policies.ParseObject([]byte(`{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSMachine","metadata":{"name":"c-master-0"},"spec":{"instanceType":"` + size + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for message, c := range map[string]struct {
		do           []change
		by           policies.Actor
		unconverted  bool
		same         bool
		want         []string
		wantNoLookup bool
	}{
		"so that it differs": {want: []string{"the ControlPlaneMachineSet will delete c-master-0 (it differs from the template: instanceType " +
			"m6i.metal → m6i.xlarge)"}},
		"under OnDelete":              {do: changes(strategy("OnDelete"))},
		"of an inactive set":          {do: changes(inactive)},
		"by the provider":             {by: policies.InfrastructureController, wantNoLookup: true},
		"so that it does not convert": {unconverted: true},
		"without a change of spec":    {same: true, wantNoLookup: true},
	} {
		t.Run(message, func(t *testing.T) {
			v := masters(c.do)
			m := &v.Machines[0]
			m.Spec.AuthoritativeAPI, m.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI, machinev1beta1.MachineAuthorityClusterAPI
			edited := m.DeepCopy()
			edit(&edited.Spec.ProviderSpec, "instanceType", "m6i.metal")
			change := policies.Change{
				Subject:   policies.Subject{Side: policies.SideInfrastructure, Kind: authority.InfraMachine, Namespace: "c", Name: m.Name},
				Operation: admissionv1.Update, Old: instance("m6i.xlarge"), New: instance("m6i.metal"), Actor: c.by,
			}
			if c.same {
				change.New = change.Old
			}
			if lookedUp := admission.Rules().Needs(change).Has(policies.NeedControlPlaneSet); lookedUp == c.wantNoLookup {
				t.Errorf("the control plane is looked up: %t", lookedUp)
			}
			if c.unconverted {
				edited = nil
			}
			if d := cmp.Diff(c.want, warningsWith(t, v, change, edited)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestAMachineThatLosesALabelInClusterAPI: its mirror in Machine API loses the label, by which the set selects.
func TestAMachineThatLosesALabelInClusterAPI(t *testing.T) {
	v := masters(nil)
	m := &v.Machines[0]
	m.Spec.AuthoritativeAPI, m.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI, machinev1beta1.MachineAuthorityClusterAPI
	edited := m.DeepCopy()
	delete(edited.Labels, controlplane.RoleLabel)
	got := warningsWith(t, v, policies.Change{
		Subject:   policies.Subject{Side: policies.SideClusterAPI, Kind: "Machine", Namespace: "c", Name: m.Name},
		Operation: admissionv1.Update, Old: machineObject(t, m), New: machineObject(t, edited),
	}, edited)
	if len(got) != 1 || !strings.HasPrefix(got[0], "with these labels the set no longer selects c-master-0, whose instance keeps running: ") {
		t.Errorf("the warnings are %q", got)
	}
}
