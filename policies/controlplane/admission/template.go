// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// editsTemplate reports whether a person changes what is made from an infrastructure machine template: by an edit of the template, or by recreating it under
// the name of the old one. It is false for controllers, which read no warning.
func editsTemplate(c policies.Change) bool {
	switch {
	case c.Actor != policies.Anyone || c.Old.Deleting():
		return false
	case c.Operation == admissionv1.Update:
		return !same(c.Old.Spec, c.New.Spec)
	}
	return true
}

func templateNeeds(c policies.Change) policies.Need {
	if editsTemplate(c) {
		return policies.NeedControlPlaneSet
	}
	return 0
}

// RefersTo reports whether a set's template for Cluster API refers to the infrastructure machine template of this group, kind and name.
func RefersTo(set *policies.Object, group, kind, name string) bool {
	t, err := controlplane.Template(set.Raw())
	return err == nil && t != nil && t.Spec.InfrastructureRef == controlplane.TemplateReference{APIGroup: group, Kind: kind, Name: name}
}

// TemplateEdited forecasts the effect of an edit of the infrastructure machine template to which a set refers. For the plan, that edit is an edit of the set.
// If a rule would refuse the corresponding edit of the set, TemplateEdited only warns, because the set itself is not edited.
func TemplateEdited(c policies.Change) policies.Verdict {
	in := c.Facts.ControlPlane
	if !editsTemplate(c) || in == nil || in.Set == nil || in.Set.Deleting() {
		return policies.Verdict{}
	}
	p := propose(c, in.Set)
	if p == nil {
		return policies.Verdict{}
	}
	plan := p.plan()
	forecast := plan.Forecast()
	forecast[0] = fmt.Sprintf("%s %s creates its Machines from this template: %s", controlplane.Kind, in.Set.Metadata.Name, forecast[0])
	if p.authority == authority.Migrating {
		forecast = append([]string{"the set does nothing while its status.authoritativeAPI is Migrating. Afterwards:"}, forecast...)
	}
	v := p.written(policies.Warn(forecast...))
	if len(p.Unresolved) == 0 {
		v.Warnings = append(v.Warnings, broken(in)...)
	}
	return v
}

// broken returns warnings about what the rules of a set's content refuse with the requested template and do not refuse with the stored one.
func broken(in *policies.ControlPlane) []string {
	stored := *in
	stored.Templates, stored.Trials = in.Stored, nil
	of := func(world *policies.ControlPlane) policies.Change {
		return policies.Change{Subject: policies.Subject{Side: policies.SideMachineAPI, Kind: controlplane.Kind}, Operation: admissionv1.Create, New: in.Set,
			Facts: policies.Facts{ControlPlane: world}}
	}
	after, before := of(in), of(&stored)
	var out []string
	for _, r := range Rules().Applying(after) {
		if r.ID == ForecastRule {
			continue
		}
		v := beyond(r.Check(after), r.Check(before))
		for _, e := range v.Denials {
			out = append(out, fmt.Sprintf("%s: %s. In the set itself, Poundlock refuses such content (%s)", e.Field, e.Detail, r.ID))
		}
		out = append(out, v.Warnings...)
	}
	return out
}

// TemplateTrials returns the Machines that the review of a template's edit tries with a dry run: one for each failure domain of the set that refers to the
// template.
func TemplateTrials(set *policies.Object, in *policies.ControlPlane) []controlplane.Trial {
	return Asked(policies.Change{Operation: admissionv1.Create, New: set}, in)
}

// onTemplates returns the scope of rules about infrastructure machine templates.
func onTemplates(ops ...admissionv1.Operation) []policies.Scope {
	return []policies.Scope{{Side: policies.SideInfrastructure, Kinds: []string{authority.InfraMachineTemplate}, Operations: ops}}
}
