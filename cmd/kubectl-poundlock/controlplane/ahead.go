// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies/controlplane"
)

// Wait is the verb of a step that is not the set's: a Machine becomes ready, or goes.
const Wait = "Wait"

// Step is one thing that is done, or waited for.
type Step struct {
	// Verb is Adopt, Amend, Create, Delete or Wait.
	Verb string `json:"verb"`
	// Index is where, none for Wait.
	Index         *int   `json:"index,omitempty"`
	FailureDomain string `json:"failureDomain,omitempty"`
	// Machine is the one that it is done to. The name of one that is made has xxxxx where five letters will be.
	Machine string `json:"machine,omitempty"`
	Why     string `json:"why"`
	// Now: it is done at once, and not after the steps before it.
	Now bool `json:"now,omitempty"`
}

// longest is more than the passes of any plan: a guard against two that undo each other.
const longest = 200

// Ahead is what the set does from where things stand, as if it were Active, if all goes well: what is made becomes ready, what is deleted goes, and nothing
// else happens. It is the plan of now, and of what comes of it, to the end.
func Ahead(v controlplane.View) []Step {
	w := imagine(v)
	out, done := []Step{}, map[string]bool{}
	for pass := range longest {
		plan := controlplane.Make(w.View)
		steps := plan.Steps()
		added := false
		for _, s := range steps {
			name := w.do(plan, s)
			key := string(s.Verb) + " " + name
			if done[key] {
				continue // what is adopted or amended is so only in the cluster
			}
			done[key], added = true, true
			out = append(out, stepOf(s, name, pass == 0))
		}
		if added {
			continue
		}
		if plan.Waits == "" {
			return out
		}
		out = append(out, Step{Verb: Wait, Why: plan.Waits, Now: pass == 0})
		if !w.settle() {
			return out
		}
	}
	return out
}

func stepOf(s controlplane.Step, name string, now bool) Step {
	out := Step{Verb: string(s.Verb), Index: &s.Index.Number, Machine: name, Why: s.Why, Now: now}
	if s.Index.Domain != nil {
		out.FailureDomain = s.Index.Domain.Name
	}
	return out
}

// imagined is a view in which things are done.
type imagined struct {
	controlplane.View
	made int
}

func imagine(v controlplane.View) *imagined {
	set := v.Set.DeepCopy()
	set.Spec.State = machinev1.ControlPlaneMachineSetStateActive
	if set.UID == "" {
		set.UID = "to be stored"
	}
	v.Set, v.Machines, v.Nodes = set, slices.Clone(v.Machines), slices.Clone(v.Nodes)
	return &imagined{View: v}
}

// do does a step that makes or deletes a Machine, and returns the Machine's name.
func (w *imagined) do(plan controlplane.Plan, s controlplane.Step) string {
	switch s.Verb {
	case controlplane.Create:
		return w.create(plan, s)
	case controlplane.Delete:
		w.remove(func(m machinev1beta1.Machine) bool { return m.Name == s.Machine.Name })
	case controlplane.Adopt, controlplane.Amend:
	}
	return s.Machine.Name
}

// create makes a Machine that is ready already: until it is, nothing else is done.
func (w *imagined) create(plan controlplane.Plan, s controlplane.Step) string {
	w.made++
	m := plan.Machine(s.Index)
	m.Name = w.free(m.Name, s.Index.Number)
	m.UID, m.CreationTimestamp = types.UID(m.Name), metav1.NewTime(w.Now.Add(time.Duration(w.made)*time.Second))
	w.Machines = append(w.Machines, *m)
	w.ready(len(w.Machines) - 1)
	return m.Name
}

// unknown stands where a Machine's name has five letters: they follow from the set as it will be then.
const unknown = "xxxxx"

// free is a name with its letters made unknown, such as no Machine has.
func (w *imagined) free(name string, index int) string {
	end := fmt.Sprintf("-%d", index)
	name = strings.TrimSuffix(name, end)
	name = name[:len(name)-len(unknown)] + unknown
	for slices.ContainsFunc(w.Machines, func(m machinev1beta1.Machine) bool { return m.Name == name+end }) {
		name += "-" + unknown
	}
	return name + end
}

func (w *imagined) ready(i int) {
	m := w.Machines[i].DeepCopy()
	m.Status.Phase = new(machinev1beta1.PhaseRunning)
	m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "node of " + m.Name}
	w.Machines[i] = *m
	w.Nodes = append(w.Nodes, corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Status.NodeRef.Name, CreationTimestamp: metav1.NewTime(w.Now)},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})
}

// remove takes Machines away, with their Nodes.
func (w *imagined) remove(is func(machinev1beta1.Machine) bool) bool {
	before := len(w.Machines)
	for _, m := range w.Machines {
		if is(m) {
			w.Nodes = slices.DeleteFunc(w.Nodes, func(n corev1.Node) bool { return n.Name == nodeOf(&m) })
		}
	}
	w.Machines = slices.DeleteFunc(w.Machines, is)
	return len(w.Machines) < before
}

// settle ends what is on its way: who is being deleted is gone, and who has yet to get a Node has one. It reports whether there was any.
func (w *imagined) settle() bool {
	some := w.remove(func(m machinev1beta1.Machine) bool { return m.DeletionTimestamp != nil })
	for i := range w.Machines {
		if m := &w.Machines[i]; m.Status.NodeRef == nil && phase(m) != machinev1beta1.PhaseFailed {
			w.ready(i)
			some = true
		}
	}
	return some
}
