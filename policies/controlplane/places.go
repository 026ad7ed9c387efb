// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func placeText(zone string) string { return cmp.Or(zone, "no zone") }

// lists reports whether a providerSpec is in one of the plan's places.
func (p *Plan) lists(spec map[string]any) bool {
	if len(p.Domains) == 0 {
		return p.row.zoneOf(spec) == p.row.zoneOf(p.spec)
	}
	return slices.ContainsFunc(p.Domains, func(d Domain) bool { return d.holds(p.row, spec) })
}

// listed is the set's list in a sentence.
func (p *Plan) listed() string {
	if len(p.Domains) == 0 {
		return placeText(p.row.zoneOf(p.spec)) + " (of the template: the set lists none)"
	}
	return strings.Join(names(p.Domains, func(d Domain) string { return d.Name }), ", ")
}

// nearly returns what keeps a Machine out of a failure domain of the same zone.
func (p *Plan) nearly(spec map[string]any) string {
	row, zone := p.row, p.row.zoneOf(spec)
	for _, d := range p.Domains {
		if in := d.in(spec); p.row.zoneOf(in) == zone {
			return fmt.Sprintf(" (but for %s it would be in %s)", listDifferences(different(field.NewPath("spec", "providerSpec", "value"), row.meaning(spec), row.meaning(in))), d.Name)
		}
	}
	return ""
}

// taken are the indexes that have a Machine, with its name.
func (p *Plan) taken() []string {
	var out []string
	for _, i := range p.Indexes {
		if len(i.Machines) > 0 {
			out = append(out, fmt.Sprintf("%d: %s", i.Number, strings.Join(named(i.Machines, nil), ", ")))
		}
	}
	return out
}

// leavingIndex reports whether all Machines of some index are being deleted.
func (p *Plan) leavingIndex() bool {
	return slices.ContainsFunc(p.Indexes, func(i Index) bool { return len(i.Machines) > 0 && !i.stays() })
}

func (i Index) stays() bool {
	return slices.ContainsFunc(i.Machines, func(m MachineState) bool { return !m.Deleting })
}

// staying are the Machines that tell where the control plane is: those that nobody deletes, and where an index has none, those that go.
func (p *Plan) staying() []*machinev1beta1.Machine {
	var out []*machinev1beta1.Machine
	for _, i := range p.Indexes {
		for _, m := range i.Machines {
			if !m.Deleting || !i.stays() {
				out = append(out, m.machine)
			}
		}
	}
	return out
}
