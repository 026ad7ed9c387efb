// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
)

// Hold is a hook that keeps a deleted Machine.
type Hold struct{ Machine, Hook, Owner string }

// Holds are the hooks that keep deleted Machines (control-plane-machine-set-controller › Protecting etcd quorum during update operations).
func (p *Plan) Holds() []Hold {
	var out []Hold
	for _, m := range p.Machines() {
		if m.Deleting {
			out = append(out, m.holds()...)
		}
	}
	return out
}

func (m MachineState) holds() []Hold {
	var out []Hold
	for _, h := range m.machine.Spec.LifecycleHooks.PreDrain {
		out = append(out, Hold{m.Name, h.Name, h.Owner})
	}
	for _, h := range m.machine.Spec.LifecycleHooks.PreTerminate {
		out = append(out, Hold{m.Name, h.Name, h.Owner})
	}
	return out
}

// held returns what holds a deleted Machine, and the remedy where it may do so forever.
func (p *Plan) held(m MachineState) string {
	var hooks []string
	for _, h := range m.holds() {
		hooks = append(hooks, fmt.Sprintf("%s of %s", h.Hook, h.Owner))
	}
	if hooks == nil {
		return ""
	}
	says := ", held by the hook " + strings.Join(hooks, " and the hook ")
	if lost := NamesOf(p.Machines(), func(o MachineState) bool { return !o.Deleting && !o.Ready && (o.Failed || !o.joining()) }); len(lost) > 0 {
		says += fmt.Sprintf("; not ready meanwhile: %s. The hook may stay until each is ready again, or deleted", strings.Join(lost, ", "))
	}
	if p.Strategy == machinev1.Recreate {
		says += fmt.Sprintf("; under the strategy Recreate its replacement, which would let etcd release it, is made once it has gone. "+
			"To go on, with a member of etcd less until the replacement has joined, see that all other members are healthy, "+
			"and remove the hook from spec.lifecycleHooks: kubectl -n %s edit machines.machine.openshift.io %s",
			m.machine.Namespace, m.Name)
	}
	return says
}
