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

	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// PlaceText returns the text for a zone in a sentence: the zone itself, or "no zone" if it is empty.
func PlaceText(zone string) string { return cmp.Or(zone, "no zone") }

// Lists reports whether a providerSpec is in one of the set's failure domains. If the set has none, it reports whether the providerSpec is in the template's
// zone.
func (p *Plan) Lists(spec map[string]any) bool {
	if len(p.Domains) == 0 {
		return p.Row.ZoneOf(spec) == p.Row.ZoneOf(p.Spec)
	}
	return slices.ContainsFunc(p.Domains, func(d platform.Domain) bool { return d.Holds(p.Row, spec) })
}

// Listed returns the names of the set's failure domains for a sentence, or the template's zone if the set has none.
func (p *Plan) Listed() string {
	if len(p.Domains) == 0 {
		return PlaceText(p.Row.ZoneOf(p.Spec)) + " (from the template: the set lists no failure domains)"
	}
	return strings.Join(values.Names(p.Domains, func(d platform.Domain) string { return d.Name }), ", ")
}

// Nearly returns, as the end of a sentence, why a Machine is not in the set's failure domain in its zone: the fields that differ. It returns "" if the set has
// no failure domain in that zone.
func (p *Plan) Nearly(spec map[string]any) string {
	row, zone := p.Row, p.Row.ZoneOf(spec)
	for _, d := range p.Domains {
		if in := d.In(spec); p.Row.ZoneOf(in) == zone {
			return fmt.Sprintf(" (the listed failure domain %[2]s has the same zone, but differs: %[1]s)",
				ListDifferences(Different(field.NewPath("spec", "providerSpec", "value"), row.Meaning(spec), row.Meaning(in))), d.Name)
		}
	}
	return ""
}

// Taken lists the indexes that have a Machine, with the Machines' names.
func (p *Plan) Taken() []string {
	var out []string
	for _, i := range p.Indexes {
		if len(i.Machines) > 0 {
			out = append(out, fmt.Sprintf("%d: %s", i.Number, strings.Join(NamesOf(i.Machines, nil), ", ")))
		}
	}
	return out
}

// LeavingIndex reports whether all Machines of some index are being deleted.
func (p *Plan) LeavingIndex() bool {
	return slices.ContainsFunc(p.Indexes, func(i Index) bool { return len(i.Machines) > 0 && !i.stays() })
}

func (i Index) stays() bool {
	return slices.ContainsFunc(i.Machines, func(m MachineState) bool { return !m.Deleting })
}

// Staying returns the Machines that determine where the control plane is: the Machines that are not being deleted. If all Machines of an index are being
// deleted, it returns these, too.
func (p *Plan) Staying() []*machinev1beta1.Machine {
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
