// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"cmp"
	"slices"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// domains returns two lists of failure domains: "own" has those of the control plane's Machines, and "more" has the further ones of MachineSets. Each failure
// domain is listed once. Both lists are sorted by Domain.Key.
func (g *generator) domains() (own, more []machinev1.FailureDomains) {
	if g.row.Found == nil {
		return nil, nil
	}
	var specs []map[string]any
	for _, m := range g.stay {
		specs = append(specs, platform.ProviderSpec(m.Spec))
	}
	find := g.row.Found(specs, g.Infrastructure)
	for _, s := range specs {
		if d, ok := find(s); ok && !slices.ContainsFunc(own, g.equals(d)) {
			own = append(own, d)
		}
	}
	if len(own) == 0 {
		return nil, nil // control plane Machines without failure domains do not get any because of the workers
	}
	for _, s := range g.workers() {
		if d, ok := find(s); ok && g.elsewhere(d, append(slices.Clone(own), more...)) {
			more = append(more, d)
		}
	}
	for _, list := range [][]machinev1.FailureDomains{own, more} {
		slices.SortStableFunc(list, func(a, b machinev1.FailureDomains) int { return cmp.Compare(g.domain(a).Key(), g.domain(b).Key()) })
	}
	return own, more
}

// workers returns the providerSpecs of the MachineSets in the control plane's region, in the order of the sets' names.
func (g *generator) workers() []map[string]any {
	sets := slices.Clone(g.MachineSets)
	slices.SortFunc(sets, func(a, b machinev1beta1.MachineSet) int { return cmp.Compare(a.Name, b.Name) })
	var out []map[string]any
	for _, s := range sets {
		spec := platform.ProviderSpec(s.Spec.Template.Spec)
		_, atEdge := s.Spec.Template.Spec.Labels[machineapi.EdgeRole]
		if spec == nil || atEdge || s.DeletionTimestamp != nil || spec["kind"] != g.row.Kind {
			continue
		}
		if !slices.ContainsFunc([]string{"placement.region", "region", "location"}, func(path string) bool {
			return values.At(spec, values.Path(path)) != values.At(g.spec, values.Path(path))
		}) {
			out = append(out, spec)
		}
	}
	return out
}

// elsewhere reports whether a failure domain is in a zone in which no known one is, and sets the same fields as the known ones. If a control plane Machine is
// in the zone, that Machine's subnet counts, and not the subnet of a worker.
func (g *generator) elsewhere(d machinev1.FailureDomains, known []machinev1.FailureDomains) bool {
	at := func(d machinev1.FailureDomains) string {
		return g.row.ZoneOf(g.domain(d).In(nil))
	}
	zones := func(d machinev1.FailureDomains) []string {
		return values.Names(g.domain(d).Sets, func(s platform.Setting) string { return s.Path })
	}
	return slices.Equal(zones(d), zones(known[0])) && !slices.ContainsFunc(known, func(k machinev1.FailureDomains) bool { return at(k) == at(d) })
}

// domain returns the Domain of a union that has one failure domain: the values that it sets in a providerSpec.
func (g *generator) domain(d machinev1.FailureDomains) platform.Domain {
	if all, _ := g.row.Domains(d, g.Infrastructure); len(all) > 0 {
		return all[0]
	}
	return platform.Domain{}
}

func (g *generator) equals(d machinev1.FailureDomains) func(machinev1.FailureDomains) bool {
	return func(other machinev1.FailureDomains) bool { return g.domain(d).Same(g.domain(other)) }
}
