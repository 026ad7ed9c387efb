// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
)

// Hold is one lifecycle hook on a Machine that is being deleted. The hook keeps the Machine.
type Hold struct{ Machine, Stage, Hook, Owner string }

// The stages of hooks, in their order.
const (
	preDrain     = "preDrain"
	preTerminate = "preTerminate"
)

// Holds returns the hooks that keep deleted Machines (control-plane-machine-set-controller › Protecting etcd quorum during update operations).
func (p *Plan) Holds() []Hold {
	var out []Hold
	for _, m := range p.Machines() {
		if m.Deleting {
			out = append(out, m.holds()...)
		}
	}
	return out
}

// holds returns all hooks of a Machine, those before the drain first.
func (m MachineState) holds() []Hold {
	var out []Hold
	for _, h := range m.machine.Spec.LifecycleHooks.PreDrain {
		out = append(out, Hold{m.Name, preDrain, h.Name, h.Owner})
	}
	for _, h := range m.machine.Spec.LifecycleHooks.PreTerminate {
		out = append(out, Hold{m.Name, preTerminate, h.Name, h.Owner})
	}
	return out
}

// DeletionWaitsFor returns what the deletion of a Machine waits for at its present stage. First it waits for the hooks before the drain. Once they are gone, it
// waits for the drain and for the hooks before the termination of the instance, and at last for the finalizers.
func (m MachineState) DeletionWaitsFor() []string {
	var first, last []string
	for _, h := range m.holds() {
		text := fmt.Sprintf("%s hook %s of %s", h.Stage, h.Hook, h.Owner)
		if h.Stage == preDrain {
			first = append(first, text)
		} else {
			last = append(last, text)
		}
	}
	if len(first) > 0 {
		return first
	}
	if !m.drained() {
		last = append([]string{"its Node to be drained"}, last...)
	}
	if len(last) == 0 && len(m.machine.Finalizers) > 0 {
		last = []string{"the finalizers " + strings.Join(m.machine.Finalizers, ", ")}
	}
	return last
}

// drained reports whether the Machine has the condition Drained, or has no Node.
func (m MachineState) drained() bool {
	node := m.machine.Status.NodeRef
	return node == nil || node.Name == "" || slices.ContainsFunc(m.machine.Status.Conditions, func(c machinev1beta1.Condition) bool {
		return c.Type == machinev1beta1.MachineDrained && c.Status == corev1.ConditionTrue
	})
}

// held returns a text about the hooks that hold a deleted Machine, as the continuation of a sentence; "" if no hook does. If the hooks may stay forever, the
// text has the remedy.
func (p *Plan) held(m MachineState) string {
	var hooks []string
	for _, h := range m.holds() {
		hooks = append(hooks, fmt.Sprintf("%s of %s", h.Hook, h.Owner))
	}
	if hooks == nil {
		return ""
	}
	message := ", held by the hook " + strings.Join(hooks, " and the hook ")
	if lost := NamesOf(p.Machines(), func(o MachineState) bool { return !o.Deleting && !o.Ready && (o.Failed || !o.joining()) }); len(lost) > 0 {
		message += fmt.Sprintf("; these Machines are not ready: %s. The hook may stay until each of them is ready again or deleted", strings.Join(lost, ", "))
	}
	if p.Strategy == machinev1.Recreate {
		message += fmt.Sprintf("; etcd's hook waits for the replacement, which the strategy Recreate only creates once this Machine is gone. To continue with "+
			"one etcd member fewer until the replacement has joined, check that all other members are healthy, and remove the hook from "+
			"spec.lifecycleHooks: kubectl -n %s edit machines.machine.openshift.io %s",
			m.machine.Namespace, m.Name)
	}
	return message
}
