// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
)

// waits says what an active set without problems is waiting for, "" for nothing.
func (p *Plan) waits() string {
	if !p.Active || len(p.Problems) > 0 {
		return ""
	}
	if moves := p.moves(); moves != "" {
		return moves
	}
	if _, ok := p.change(); ok {
		return ""
	}
	switch busy := p.busy(); {
	case busy != "":
		return busy
	case p.Strategy == machinev1.Recreate && len(p.Outdated()) > 0:
		return p.lost() + " is not ready: the strategy Recreate takes no second Machine away from etcd"
	case p.Strategy == machinev1.OnDelete && len(p.Outdated()) > 0:
		return "somebody to delete what is outdated: " + p.tell(p.Outdated())
	}
	return ""
}

// Forecast says what the set will do, in sentences for whoever writes it: first what it replaces, then what else. It is what the operator will do from
// where things stand, whatever the set's state is: for an inactive one it is what activating it would lead to.
func (p *Plan) Forecast() []string {
	if len(p.Problems) > 0 {
		var why []string
		for _, problem := range p.Problems {
			why = append(why, problem.Says)
		}
		return []string{p.will() + " nothing until this is mended: " + strings.Join(why, "; ")}
	}
	var out []string
	for _, say := range []func() string{p.replaces, p.makes, p.amends, p.leaves} {
		if s := say(); s != "" {
			out = append(out, s)
		}
	}
	if out == nil {
		return []string{fmt.Sprintf("%s nothing: all %d control plane Machines are as the template says", p.will(), len(p.machines()))}
	}
	return out
}

func (p *Plan) will() string {
	if p.Active {
		return "this will do"
	}
	return "the set is Inactive; made Active it would do"
}

// doing is will for another verb.
func (p *Plan) doing(verb string) string { return strings.TrimSuffix(p.will(), "do") + verb }

func (p *Plan) replaces() string {
	all := p.Outdated()
	if len(all) == 0 {
		return ""
	}
	many := fmt.Sprintf("%d of %d control plane Machines", len(all), p.Replicas)
	switch p.Strategy {
	case machinev1.OnDelete:
		return fmt.Sprintf("%s no Machine by itself (strategy OnDelete): %s are outdated, and each is replaced once somebody deletes it: %s", p.doing("replace"), many, p.tell(all))
	case machinev1.Recreate:
		return fmt.Sprintf("%s %s, one at a time, each deleted before its replacement is made (strategy Recreate): while one is away, etcd has lost a member: %s", p.doing("replace"), many, p.tell(all))
	}
	return fmt.Sprintf("%s %s, one at a time: %s", p.doing("replace"), many, p.tell(all))
}

// tell names the outdated Machines and their differences.
func (p *Plan) tell(all []Index) string {
	var out []string
	for _, i := range all {
		m := i.outdated()
		out = append(out, fmt.Sprintf("%s (%s)", m.Name, told(m.In(Rollout))))
	}
	return strings.Join(out, ", ")
}

func (p *Plan) makes() string {
	var out []string
	for _, i := range p.Indexes {
		if !slices.ContainsFunc(i.Machines, func(m MachineState) bool { return !m.Deleting }) {
			out = append(out, fmt.Sprintf("at index %d%s", i.Number, i.where()))
		}
	}
	if out == nil {
		return ""
	}
	return fmt.Sprintf("%s %d control plane Machines: %s", p.doing("create"), len(out), strings.Join(out, ", "))
}

// where is the index's failure domain in a sentence.
func (i Index) where() string {
	if i.Domain == nil {
		return ""
	}
	return " in " + i.Domain.Name
}

func (p *Plan) amends() string {
	if all := p.sum(InPlace); all != "" {
		return p.doing("change in place") + " " + all
	}
	return ""
}

func (p *Plan) leaves() string {
	if all := p.sum(Ignored); all != "" {
		return p.doing("leave as it is") + " " + all + "; Machines that are made from now on have what the template says"
	}
	return ""
}

// sum tells what is the same for several Machines once.
func (p *Plan) sum(e Effect) string {
	var order []string
	on := map[string][]string{}
	for _, m := range p.machines() {
		if m.Deleting || !m.Updated() {
			continue // it goes, and its replacement has all of it
		}
		for _, d := range m.In(e) {
			if on[d.String()] == nil {
				order = append(order, d.String())
			}
			on[d.String()] = append(on[d.String()], m.Name)
		}
	}
	var out []string
	for _, d := range order {
		out = append(out, fmt.Sprintf("%s (%s)", d, strings.Join(on[d], ", ")))
	}
	return strings.Join(out, ", ")
}
