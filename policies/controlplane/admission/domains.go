// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
)

// FailureDomains refuses failure domains that do not match those of the Machines: "we will need to validate that the failure domains align with those within
// the cluster already, this will prevent users from accidentally migrating their Control Plane Machines from multiple availability zones to a single zone". It
// checks every failure domain. Their order does not matter.
func FailureDomains(c policies.Change) policies.Verdict {
	v := ratchet(inInfrastructure)(c)
	if !changesSpec(c) {
		return v
	}
	if now := propose(c, c.New); now != nil {
		return now.written(now.spreads(c, v))
	}
	return v
}

// spreads adds to a verdict the errors about the places (failure domains or zones) of the set's Machines, and returns the result. It adds none to a verdict
// that already refuses the request.
func (p *proposal) spreads(c policies.Change, v policies.Verdict) policies.Verdict {
	var before *proposal
	if c.Old != nil {
		before = propose(c, c.Old)
	}
	if !p.placed() || len(v.Denials) > 0 {
		return v
	}
	switch {
	case begins(c):
		v.Denials = append(v.Denials, p.outside()...)
	case before == nil || slices.Equal(before.places(), p.places()):
	case p.plan().Active:
		v.Denials = append(v.Denials, p.narrower()...)
	default:
		v.Denials = append(v.Denials, p.outside()...)
	}
	return v
}

// inInfrastructure refuses failure domains of vSphere and Nutanix that the Infrastructure does not describe.
func inInfrastructure(p *proposal) policies.Verdict {
	prefix := platform.TemplatePath().Child("failureDomains").String() + "."
	plan := p.plan()
	return policies.Verdict{Denials: slices.DeleteFunc(slices.Clone(plan.Invalid), func(e *field.Error) bool {
		return !strings.HasPrefix(e.Field, prefix) || e.Field == platform.DomainsPath("platform").String() // another rule reports it
	})}
}

// placed reports whether the set determines in which failure domain or zone its Machines are.
func (p *proposal) placed() bool {
	row, named := p.platform(), p.failureDomains().Platform
	return row.Domains != nil && p.providerSpec() != nil && (named == "" || named == row.Name)
}

// places returns the places of the set's Machines, sorted: the keys of its failure domains or, if it has none, the zone of its template.
func (p *proposal) places() []string {
	plan := p.plan()
	if len(plan.Domains) == 0 {
		return []string{plan.Row.ZoneOf(plan.Spec)}
	}
	var out []string
	for _, d := range plan.Domains {
		out = append(out, d.Key())
	}
	slices.Sort(out)
	return out
}

// outside returns an error for each Machine that is in none of the set's failure domains. If the set has no failure domains, the template's own zone takes
// their place.
func (p *proposal) outside() field.ErrorList {
	plan := p.plan()
	var out field.ErrorList
	for _, m := range plan.Machines() {
		spec := platform.ProviderSpec(m.Machine().Spec)
		if m.Deleting || plan.Lists(spec) {
			continue
		}
		out = append(out, field.Invalid(platform.TemplatePath().Child("failureDomains"), plan.Listed(), fmt.Sprintf(
			"Machine %s is in %s, which the set does not list%s. An active set would replace this Machine with one in a listed failure domain. List the "+
				"Machine's failure domain too. Once the set is active, you may remove it from the list",
			m.Name, controlplane.PlaceText(plan.Row.ZoneOf(spec)), plan.Nearly(spec))))
	}
	return out
}

// narrower returns an error if a set spreads its Machines over fewer zones than they are in now. An active set may move its Machines on purpose, but not by
// accident into one zone.
func (p *proposal) narrower() field.ErrorList {
	plan := p.plan()
	have, want := map[string][]string{}, map[string]bool{}
	for _, m := range plan.Machines() {
		if !m.Deleting {
			zone := controlplane.PlaceText(plan.Row.ZoneOf(platform.ProviderSpec(m.Machine().Spec)))
			have[zone] = append(have[zone], m.Name)
		}
	}
	for _, i := range plan.Indexes {
		want[plan.Row.ZoneOf(i.Spec)] = true
	}
	if len(want) >= len(have) {
		return nil
	}
	var now []string
	for _, zone := range slices.Sorted(maps.Keys(have)) {
		now = append(now, fmt.Sprintf("%s (%s)", zone, strings.Join(have[zone], ", ")))
	}
	return field.ErrorList{field.Invalid(platform.TemplatePath().Child("failureDomains"), plan.Listed(), fmt.Sprintf(
		"the set would spread the control plane over %s, but the Machines are spread over %d now: %s. List failure domains in at least as many "+
			"zones", amount.Of(len(want), "zone"), len(have), strings.Join(now, ", ")))}
}

// Replicas refuses replicas that are not the number of the Machines' indexes: "prevent end users from attempting to horizontally scale their control plane
// during creation of the ControlPlaneMachineSet resource". One index may have no Machine, because it is the set's purpose to create that Machine. A control
// plane without any Machine is not refused: the set is degraded then (control-plane-machine-set-controller › Installing a ControlPlaneMachineSet within an
// existing cluster).
func Replicas(c policies.Change) policies.Verdict {
	if !changesSpec(c) || !begins(c) {
		return policies.Verdict{}
	}
	p := propose(c, c.New)
	if p == nil {
		return policies.Verdict{}
	}
	plan := p.plan()
	places := plan.Taken()
	n := len(places)
	if n == 0 || n == plan.Replicas || n == plan.Replicas-1 && p.highlyAvailable() {
		return policies.Verdict{}
	}
	return policies.Deny(field.Invalid(controlplane.SpecPath.Child("replicas"), plan.Replicas, fmt.Sprintf("the control plane's Machines have %s (the number "+
		"at the end of the name): %s. %s",
		amount.Of(n, "index"), strings.Join(places, ", "), p.countRemedy(c, n))))
}

// OnePerIndex refuses the activation of a set with two running Machines at one index: "we will keep the indexes consistent with the availability zone that they
// were originally assigned", so an index is for one Machine. Nothing determines which of the two Machines to delete.
func OnePerIndex(c policies.Change) policies.Verdict {
	if !changesSpec(c) || !begins(c) {
		return policies.Verdict{}
	}
	p := propose(c, c.New)
	if p == nil || !p.plan().Active {
		return policies.Verdict{}
	}
	var v policies.Verdict
	for _, i := range p.plan().Indexes {
		if all := controlplane.NamesOf(i.Machines, func(m controlplane.MachineState) bool { return m.Ready }); len(all) > 1 {
			v.Denials = append(v.Denials, field.Forbidden(controlplane.SpecPath.Child("state"), fmt.Sprintf(
				"%s all run and have the same index %d (the number at the end of the name), but an Active set has one running Machine per index. First delete "+
					"those that are not needed, one at a time: "+
					"kubectl -n %s delete machines.machine.openshift.io NAME",
				strings.Join(all, " and "), i.Number, c.Namespace)))
		}
	}
	return v
}

// highlyAvailable reports whether a set can manage a control plane of this topology. It is true if the topology is not known.
func (p *proposal) highlyAvailable() bool {
	if p.Infrastructure == nil {
		return true
	}
	t := p.Infrastructure.Status.ControlPlaneTopology
	return t == "" || t == configv1.HighlyAvailableTopologyMode
}

func (p *proposal) countRemedy(c policies.Change, n int) string {
	switch {
	case n != 3 && n != 5:
		return "A set manages 3 or 5 Machines: first change the control plane to 3 or 5 Machines yourself"
	case c.Old != nil:
		return fmt.Sprintf("replicas cannot be changed: delete the set (kubectl -n %s delete %s.%s %s --cascade=background), and create it with replicas: %d",
			c.Namespace, controlplane.Resource, machinev1.GroupName, controlplane.Name, n)
	}
	return fmt.Sprintf("Set replicas: %d", n)
}
