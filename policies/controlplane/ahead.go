// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies/authority"
)

// Future is what a set will do, from the present state until nothing more happens by itself.
type Future struct {
	// Moments are the steps and waits, in order.
	Moments []Moment
	// Last is the plan at the end, when nothing more happens by itself.
	Last Plan
}

// Moment is a step, or a wait before the next step.
type Moment struct {
	PlannedStep
	// Name is the Machine's name. The name of a Machine that the set will create has xxxxx in place of its five letters.
	Name string
	// Waits is what is waited for; "" if the moment is a step.
	Waits string
	// Now reports that the moment does not follow from an earlier one: it follows from the present state.
	Now bool
}

// passes is the limit of passes of a simulation. It is more than any plan takes, and ends a simulation whose steps undo each other.
const passes = 200

// Ahead returns what a set will do. It simulates the set's plan to its end, as if the set were Active and all went well: a created Machine becomes ready, a
// deleted Machine is gone once its index has a Machine that is ready, moves of authority complete, and nothing else happens.
func Ahead(v View) Future {
	w, f, done := imagine(v), Future{}, map[string]bool{}
	for pass := range passes {
		f.Last = Make(w.View)
		added := false
		for _, s := range f.Last.Steps() {
			name := w.do(&f.Last, s)
			key := string(s.Verb) + " " + name
			if done[key] {
				continue // Adopt and Amend change nothing in the view, so the plan repeats them
			}
			done[key], added = true, true
			f.Moments = append(f.Moments, Moment{PlannedStep: s, Name: name, Now: pass == 0})
		}
		if added {
			continue
		}
		waits := f.Last.Waits
		if waits == "" && len(f.Last.Problems) == 0 {
			return f
		}
		finished := w.finishNext(&f.Last)
		if waits != "" && !w.own[finished] { // the wait for the result of a step is not listed as a moment
			f.Moments = append(f.Moments, Moment{Waits: waits, Now: pass == 0})
		}
		if finished == "" {
			return f
		}
	}
	return f
}

// imagined is the view of the simulation, in which steps are carried out.
type imagined struct {
	View
	made int
	// own has the names of the Machines that the simulation created or deleted.
	own map[string]bool
}

func imagine(v View) *imagined {
	set := v.Set.DeepCopy()
	set.Spec.State, set.UID = machinev1.ControlPlaneMachineSetStateActive, cmp.Or(set.UID, "to be stored")
	v.Set, v.Machines, v.Nodes = set, slices.Clone(v.Machines), slices.Clone(v.Nodes)
	return &imagined{View: v, own: map[string]bool{}}
}

// do carries out a step that creates or deletes a Machine, and returns the Machine's name. Other steps change nothing in the view.
func (w *imagined) do(p *Plan, s PlannedStep) string {
	switch s.Verb {
	case Create:
		return w.create(p, s)
	case Delete:
		w.own[s.Machine.Name] = true
		w.change(s.Machine.Name, func(m *machinev1beta1.Machine) { m.DeletionTimestamp = &metav1.Time{Time: w.Now} })
	case Adopt, Amend:
	}
	return s.Machine.Name
}

// create adds a Machine without a Node to the view, and returns its name.
func (w *imagined) create(p *Plan, s PlannedStep) string {
	w.made++
	m := p.Machine(s.Index)
	m.Name = w.free(m.Name, s.Index.Number)
	m.UID, m.CreationTimestamp = types.UID(m.Name), metav1.NewTime(w.Now.Add(time.Duration(w.made)*time.Second))
	w.Machines, w.own[m.Name] = append(w.Machines, *m), true
	return m.Name
}

// fiveLetters stands for the five letters in the name of a Machine. They follow from the set's state when the Machine is created, which is not known yet.
const fiveLetters = "xxxxx"

// free returns a name with fiveLetters that no Machine has yet.
func (w *imagined) free(name string, index int) string {
	end := fmt.Sprintf("-%d", index)
	name = strings.TrimSuffix(name, end)
	name = name[:len(name)-len(fiveLetters)] + fiveLetters
	for slices.ContainsFunc(w.Machines, func(m machinev1beta1.Machine) bool { return m.Name == name+end }) {
		name += "-" + fiveLetters
	}
	return name + end
}

// change replaces a Machine in the view by a changed copy. The caller's view keeps the original.
func (w *imagined) change(name string, do func(*machinev1beta1.Machine)) {
	at := slices.IndexFunc(w.Machines, func(m machinev1beta1.Machine) bool { return m.Name == name })
	m := w.Machines[at].DeepCopy()
	do(m)
	w.Machines[at] = *m
}

// finishNext completes the next thing in progress, and returns the name of its Machine or set; "" if nothing is in progress. Moves of authority and Machines
// that join come first. Then come deleted Machines. Of these, a Machine comes first if its index has another Machine that is ready, because etcd's hook
// releases such a Machine.
func (w *imagined) finishNext(p *Plan) string {
	if w.Authority == authority.Migrating {
		w.Authority = authority.Unset
		return w.Set.Name
	}
	if w.Behind {
		w.Behind = false
		return w.Set.Name
	}
	for _, m := range p.Machines() {
		switch {
		case m.moving():
			w.change(m.Name, func(m *machinev1beta1.Machine) {
				m.Status.Conditions = nil
				if m.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityMigrating {
					m.Status.AuthoritativeAPI = m.Spec.AuthoritativeAPI
				}
			})
			return m.Name
		case !m.Deleting && !m.Failed && m.joining():
			w.join(m.Name)
			return m.Name
		}
	}
	var going []MachineState
	for _, i := range p.Indexes {
		for _, m := range i.Machines {
			switch {
			case m.Deleting && anyReady(i.Machines):
				w.remove(m)
				return m.Name
			case m.Deleting:
				going = append(going, m)
			}
		}
	}
	if len(going) == 0 {
		return ""
	}
	w.remove(going[0])
	return going[0].Name
}

// join gives a Machine a Node that is ready.
func (w *imagined) join(name string) {
	node := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node of " + name, CreationTimestamp: metav1.NewTime(w.Now)},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	w.Nodes = append(w.Nodes, node)
	w.change(name, func(m *machinev1beta1.Machine) {
		m.Status.Phase, m.Status.NodeRef = new(machinev1beta1.PhaseRunning), &corev1.ObjectReference{Kind: "Node", Name: node.Name}
	})
}

// remove removes a Machine with its Node.
func (w *imagined) remove(gone MachineState) {
	w.Nodes = slices.DeleteFunc(w.Nodes, func(n corev1.Node) bool { return refers(gone.machine, &n) })
	w.Machines = slices.DeleteFunc(w.Machines, func(m machinev1beta1.Machine) bool { return m.Name == gone.Name })
}
