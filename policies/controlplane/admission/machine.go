// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// joins reports whether a request makes a control plane's set select a Machine. Operators and the mirror read no warning.
func joins(c policies.Change) bool {
	if c.New == nil || c.New.Deleting() || c.Actor == policies.Poundlock || c.Actor == policies.ControlPlaneOperator ||
		!controlplane.OfControlPlane(c.New.Metadata.Labels) {
		return false
	}
	return c.Operation == admissionv1.Create || c.Old != nil && !controlplane.OfControlPlane(c.Old.Metadata.Labels)
}

// returns reports whether a request asks for a control plane's Machine that Cluster API runs to be the Machine API's again.
func returns(c policies.Change) bool {
	asks := func(o *policies.Object, api machinev1beta1.MachineAuthority) bool {
		var spec machinev1beta1.MachineSpec
		return json.Unmarshal(o.Spec, &spec) == nil && spec.AuthoritativeAPI == api
	}
	return c.Operation == admissionv1.Update && c.New != nil && c.Old != nil && !c.New.Deleting() && c.Actor == policies.Anyone &&
		controlplane.OfControlPlane(c.New.Metadata.Labels) &&
		asks(c.New, machinev1beta1.MachineAuthorityMachineAPI) && asks(c.Old, machinev1beta1.MachineAuthorityClusterAPI)
}

// edits reports whether a person changes the providerSpec of a control plane's Machine: no instance changes by it, and the set may replace the Machine.
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

func joinNeeds(c policies.Change) policies.Need {
	if joins(c) || returns(c) || edits(c) {
		return policies.NeedControlPlaneSet
	}
	return 0
}

// Joins: "This set should be the complete control plane and there should be a 1:1 mapping of Machines in this set to the control plane nodes". The effect of
// an added Machine is in the plan that includes it, and so is that of an edit. One that returns to the Machine API has brought along what its infrastructure
// cluster object says, and is compared by that again.
func Joins(c policies.Change) policies.Verdict {
	in := c.Facts.ControlPlane
	if !joins(c) && !returns(c) && !edits(c) || in == nil || in.Set == nil || in.Set.Deleting() {
		return policies.Verdict{}
	}
	p := propose(c, in.Set)
	m := machinev1beta1.Machine{}
	if p == nil || json.Unmarshal(c.New.Raw(), &m) != nil {
		return policies.Verdict{}
	}
	before := p.plan()
	if selector, err := controlplane.Selector(p.set); err != nil || !before.Active || !selector.Matches(labels.Set(m.Labels)) {
		return policies.Verdict{}
	}
	if m.CreationTimestamp.IsZero() {
		m.CreationTimestamp = metav1.NewTime(in.Now)
	}
	view := p.view()
	becomes := ""
	if i := slices.IndexFunc(view.Machines, func(o machinev1beta1.Machine) bool { return o.Name == m.Name }); i >= 0 && !joins(c) {
		if returns(c) {
			m.Status.AuthoritativeAPI, becomes = machinev1beta1.MachineAuthorityMachineAPI, "once Machine API is authoritative, "
		}
		view.Machines = slices.Clone(view.Machines)
		view.Machines[i] = m
	} else {
		view.Machines = append(view.Machines, m)
	}
	after := controlplane.Make(view)
	var out []string
	for _, problem := range after.Problems {
		if !slices.Contains(before.Problems, problem) {
			out = append(out, becomes+"the ControlPlaneMachineSet will do nothing until this is fixed: "+problem.Message)
		}
	}
	known := deletions(p.view())
	for _, one := range deletions(view) {
		if !slices.Contains(known, one) {
			out = append(out, becomes+"the ControlPlaneMachineSet will "+one)
		}
	}
	return policies.Warn(out...)
}

// deletions are the Machines that a set will delete, with the reasons.
func deletions(v controlplane.View) []string {
	var out []string
	for _, m := range controlplane.Ahead(v).Moments {
		if m.Waits != "" || m.Verb != controlplane.Delete {
			continue
		}
		why := m.Reason()
		if all := m.Machine.In(controlplane.Rollout); m.Cause == controlplane.Replaced && len(all) > 0 {
			why = "it differs from the template: " + controlplane.ListDifferences(all)
		}
		out = append(out, fmt.Sprintf("delete %s (%s)", m.Name, why))
	}
	return out
}

// onMachines is the scope of rules about a control plane's Machines.
func onMachines(ops ...admissionv1.Operation) []policies.Scope {
	return []policies.Scope{{Side: policies.SideMachineAPI, Kinds: []string{"Machine"}, Operations: ops}}
}
