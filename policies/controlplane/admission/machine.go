// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// joins reports whether a request adds a Machine to those that a control plane's set selects. It is false for operators and the mirror, which read no warning.
func joins(c policies.Change) bool {
	if c.New == nil || c.New.Deleting() || c.Actor == policies.Poundlock || c.Actor == policies.ControlPlaneOperator ||
		!controlplane.OfControlPlane(c.New.Metadata.Labels) {
		return false
	}
	return c.Operation == admissionv1.Create || c.Old != nil && !controlplane.OfControlPlane(c.Old.Metadata.Labels)
}

// returns reports whether a person requests that Machine API becomes authoritative again for a control plane Machine for which Cluster API is authoritative.
func returns(c policies.Change) bool {
	asks := func(o *policies.Object, api machinev1beta1.MachineAuthority) bool {
		var spec machinev1beta1.MachineSpec
		return json.Unmarshal(o.Spec, &spec) == nil && spec.AuthoritativeAPI == api
	}
	return c.Operation == admissionv1.Update && c.New != nil && c.Old != nil && !c.New.Deleting() && c.Actor == policies.Anyone &&
		controlplane.OfControlPlane(c.New.Metadata.Labels) &&
		asks(c.New, machinev1beta1.MachineAuthorityMachineAPI) && asks(c.Old, machinev1beta1.MachineAuthorityClusterAPI)
}

// edits reports whether a person changes the providerSpec of a control plane Machine. That changes no instance, but the set may replace the Machine.
func edits(c policies.Change) bool {
	providerSpec := func(o *policies.Object) []byte {
		var spec struct {
			ProviderSpec json.RawMessage `json:"providerSpec"`
		}
		_ = json.Unmarshal(o.Spec, &spec) // what cannot be read is refused elsewhere
		return spec.ProviderSpec
	}
	return c.Operation == admissionv1.Update && c.New != nil && c.Old != nil && !c.New.Deleting() && c.Actor == policies.Anyone &&
		controlplane.OfControlPlane(c.New.Metadata.Labels) && !bytes.Equal(providerSpec(c.New), providerSpec(c.Old))
}

// editsClusterAPI reports whether a person changes the spec or the labels of a Cluster API Machine of the control plane, or the spec of a provider's machine.
// If Cluster API is authoritative, the mirror follows, and the set compares the mirror with its template.
func editsClusterAPI(c policies.Change) bool {
	return c.Operation == admissionv1.Update && c.New != nil && c.Old != nil && !c.New.Deleting() && c.Actor == policies.Anyone &&
		(c.Side == policies.SideInfrastructure && !same(c.Old.Spec, c.New.Spec) ||
			c.Side == policies.SideClusterAPI && controlplane.OfControlPlane(c.Old.Metadata.Labels) && (!same(c.Old.Spec, c.New.Spec) || leaves(c)))
}

func clusterAPIEditNeeds(c policies.Change) policies.Need {
	if editsClusterAPI(c) {
		return policies.NeedTwin | policies.NeedControlPlaneSet
	}
	return 0
}

// EditedInClusterAPI warns which Machines the set will delete because of an edit in Cluster API. Joins does this for edits in Machine API.
func EditedInClusterAPI(c policies.Change) policies.Verdict {
	in := c.Facts.ControlPlane
	if !editsClusterAPI(c) || in == nil || in.Set == nil || in.Set.Deleting() || in.Edited == nil {
		return policies.Verdict{}
	}
	return after(c, *in.Edited, "")
}

// leaves reports whether a person changes the labels of a control plane Machine, by which the set selects the Machine.
func leaves(c policies.Change) bool {
	return c.Operation == admissionv1.Update && c.New != nil && c.Old != nil && !c.New.Deleting() && c.Actor == policies.Anyone &&
		controlplane.OfControlPlane(c.Old.Metadata.Labels) && !maps.Equal(c.Old.Metadata.Labels, c.New.Metadata.Labels)
}

func joinNeeds(c policies.Change) policies.Need {
	if joins(c) || returns(c) || edits(c) || leaves(c) {
		return policies.NeedControlPlaneSet
	}
	return 0
}

// Joins warns about what the active set will do because a person adds a Machine to the control plane, takes it away by its labels, edits a Machine, or moves it
// back to Machine API: "This set should be the complete control plane and there should be a 1:1 mapping of Machines in this set to the control plane nodes". It
// compares the plan with the changed Machine to the plan without the change. When a Machine returns to Machine API, its providerSpec has the values of its
// infrastructure cluster object, and differences in these values count again.
func Joins(c policies.Change) policies.Verdict {
	in := c.Facts.ControlPlane
	if !joins(c) && !returns(c) && !edits(c) && !leaves(c) || in == nil || in.Set == nil || in.Set.Deleting() {
		return policies.Verdict{}
	}
	m := machinev1beta1.Machine{}
	if json.Unmarshal(c.New.Raw(), &m) != nil {
		return policies.Verdict{}
	}
	if m.CreationTimestamp.IsZero() {
		m.CreationTimestamp = metav1.NewTime(in.Now)
	}
	if returns(c) {
		m.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityMachineAPI
		return after(c, m, "once Machine API is authoritative for this Machine, ")
	}
	return after(c, m, "")
}

// after returns warnings about what the active set will do, beyond its present plan, once the Machine m is as given. m takes the place of the stored Machine of
// its name. If m gets the control plane's labels only now, it is added, because the set did not count the stored one. Each warning begins with the text "when".
func after(c policies.Change, m machinev1beta1.Machine, when string) policies.Verdict {
	p := propose(c, c.Facts.ControlPlane.Set)
	if p == nil {
		return policies.Verdict{}
	}
	before := p.plan()
	selector, err := controlplane.Selector(p.set)
	if err != nil || !before.Active {
		return policies.Verdict{}
	}
	view := p.view()
	view.Machines = slices.Clone(view.Machines)
	i := slices.IndexFunc(view.Machines, func(o machinev1beta1.Machine) bool { return o.Name == m.Name })
	switch selected := selector.Matches(labels.Set(m.Labels)); {
	case !selected && (i < 0 || !leaves(c)):
		return policies.Verdict{}
	case !selected:
		view.Machines = slices.Delete(view.Machines, i, i+1)
		view.Unselected = append(slices.Clone(view.Unselected), m)
		when = "with these labels the set no longer selects " + m.Name + ", whose instance keeps running: "
	case i >= 0 && !joins(c):
		view.Machines[i] = m
	default:
		view.Machines = append(view.Machines, m)
	}
	var out []string
	for _, problem := range controlplane.Make(view).Problems {
		if !slices.Contains(before.Problems, problem) {
			out = append(out, when+"the ControlPlaneMachineSet will do nothing until this problem is fixed: "+problem.Message)
		}
	}
	known := effects(p.view())
	for _, one := range effects(view) {
		if !slices.Contains(known, one) {
			out = append(out, when+"the ControlPlaneMachineSet will "+one)
		}
	}
	return policies.Warn(out...)
}

// effects returns a text for each Machine that a set will create at an index without a Machine, or delete, with the reason.
func effects(v controlplane.View) []string {
	var out []string
	for _, m := range controlplane.Ahead(v).Moments {
		switch {
		case m.Waits != "":
		case m.Verb == controlplane.Create && m.Cause == controlplane.Vacant:
			out = append(out, fmt.Sprintf("create a Machine at index %d", m.Index.Number))
		case m.Verb == controlplane.Delete:
			why := m.Reason()
			if all := m.Machine.In(controlplane.Rollout); m.Cause == controlplane.Replaced && len(all) > 0 {
				why = "it differs from the template: " + controlplane.ListDifferences(all)
			}
			out = append(out, fmt.Sprintf("delete %s (%s)", m.Name, why))
		}
	}
	return out
}

// onMachines returns the scope of rules about a control plane's Machines.
func onMachines(ops ...admissionv1.Operation) []policies.Scope {
	return []policies.Scope{{Side: policies.SideMachineAPI, Kinds: []string{"Machine"}, Operations: ops}}
}

// onClusterAPIMachines returns the scope of rules about edits of a control plane's Machines in Cluster API.
func onClusterAPIMachines() []policies.Scope {
	update := []admissionv1.Operation{admissionv1.Update}
	return []policies.Scope{
		{Side: policies.SideClusterAPI, Kinds: []string{"Machine"}, Operations: update},
		{Side: policies.SideInfrastructure, Kinds: []string{authority.InfraMachine}, Operations: update},
	}
}
