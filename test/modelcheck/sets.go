// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies/authority"
)

// mostMachines is how many Machines a pair of sets that moves can have: one more than anybody asks for.
const mostMachines = 3

// setPair is a pair of MachineSets while authority over it moves, and their Machines. What is walked here is what either set counts.
type setPair struct {
	current, origin, requested authority.API
	m, c                       setSide
	// held: Cluster API's set has its finalizer, told: the pause annotation.
	held, told bool
	// behind: the mirror has not seen the last change of the origin's set, known: it has run in this direction.
	behind, known bool
	machines      [mostMachines]machinePair
	// creating, deleting: Cluster API's controller has decided to, in a pass that began before it was told to pause.
	creating, deleting bool
	// checked: a check of Cluster API's looks at the Machines there.
	checked bool
	step    setStep
	// excess names what nobody asked for.
	excess excess
}

// setSide is a set: what it asks for, and what its controller said last.
type setSide struct {
	here     bool
	replicas uint8
	says     authority.AcknowledgedState
}

// machinePair is the pair of a Machine. refused: the mirror cannot make the other object. marked: Cluster API's check asks the Machine's set to delete it.
// stale: the set did not act, and by now no check looks at the Machine.
type machinePair struct {
	m, c                   member
	refused, marked, stale bool
}

func (k machinePair) on(a authority.API) member {
	if a == authority.MachineAPI {
		return k.m
	}
	return k.c
}

func (k *machinePair) at(a authority.API) *member {
	if a == authority.MachineAPI {
		return &k.m
	}
	return &k.c
}

// stays reports that somebody runs the Machine, and nobody has asked for its end.
func (k machinePair) stays() bool { return k.m|k.c != 0 && !k.m.has(going) && !k.c.has(going) }

func counts(m member) bool { return m.has(here|mine) && !m.has(going) }

type excess uint8

const (
	noExcess excess = iota
	createdInPlace
	deletedForNothing
	deletedByMark
)

// setStep is what the handoff has read and decided, and has not written yet.
type setStep struct {
	reading bool
	// read is what it read of the sets.
	read authority.State
	step authority.Step
	// late: the object that the step is written to has changed since it was read.
	lateM, lateC bool
}

// setPairs is the model of sets that move.
type setPairs struct {
	rules
	begin map[string]setPair
	may   deeds
}

func (f *setPairs) starts() map[string]setPair { return f.begin }

// newSetPair is a set in step with two Machines; fresh is one that was just made, without its mirror.
func newSetPair(authoritative authority.API, fresh bool) setPair {
	w := setPair{current: authoritative, origin: authoritative, requested: authoritative, known: !fresh, behind: fresh}
	w.m = setSide{here: true, replicas: 1, says: authority.AcknowledgedPaused}
	w.c = setSide{here: !fresh, replicas: 1, says: authority.AcknowledgedPaused}
	w.held, w.told = !fresh, authoritative == authority.MachineAPI && !fresh
	if authoritative == authority.MachineAPI {
		w.m.says = authority.AcknowledgedUnpaused
	} else {
		w.c.says = authority.AcknowledgedUnpaused
	}
	if fresh {
		w.c = setSide{}
		return w
	}
	w.machines[0] = machinePair{m: here | mine, c: here | mine}
	return w
}

func (w *setPair) source() authority.API {
	if w.current == authority.Migrating {
		return w.origin
	}
	return w.current
}

func (w *setPair) set(a authority.API) *setSide {
	if a == authority.MachineAPI {
		return &w.m
	}
	return &w.c
}

func (w *setPair) state(uncounted authority.Who) authority.State {
	s := authority.State{Enabled: true, Requested: w.requested, Current: w.current, Origin: w.origin, CaughtUp: !w.behind && w.known,
		Instance: authority.InstanceKnown, Uncounted: uncounted, Judged: w.judged(),
		MachineAPI: authority.Party{Exists: true, Acknowledged: w.m.says}, Synchronized: metav1.ConditionUnknown}
	if w.known {
		s.Synchronized = metav1.ConditionTrue
	}
	if w.c.here {
		s.ClusterAPI = authority.Party{Exists: true, PauseRequested: w.told, Acknowledged: w.c.says, Finalizer: authority.FinalizerAbsent}
		if w.held {
			s.ClusterAPI.Finalizer = authority.FinalizerPresent
		}
	}
	return s
}

// uncounted is what authority.Roster finds.
func (w *setPair) uncounted() (who authority.Who) {
	for _, k := range w.machines {
		switch {
		case counts(k.m) && !counts(k.c):
			who |= authority.WhoMachineAPI
		case counts(k.c) && !counts(k.m):
			who |= authority.WhoClusterAPI
		}
	}
	return who
}

// judged is what authority.Roster finds of marks: Machines that Cluster API's set counts, and no check looks at.
func (w *setPair) judged() bool {
	return !w.checked && w.c.here && slices.ContainsFunc(w.machines[:], func(k machinePair) bool { return k.marked && counts(k.c) })
}

// number is how many Machines the set of an API counts.
func (w *setPair) number(a authority.API) (n uint8) {
	for _, k := range w.machines {
		if counts(k.on(a)) {
			n++
		}
	}
	return n
}

// staying is how many Machines there are, for every counter.
func (w *setPair) staying() (n uint8) {
	for _, k := range w.machines {
		if k.stays() {
			n++
		}
	}
	return n
}

const (
	setUser actor = iota
	setMirror
	setHandoff
	setController
	setMachines
)

type setTurn struct {
	*setPairs
	was     setPair
	happens func(move, setPair)
}

func (f *setPairs) moves(w setPair, happens func(move, setPair)) {
	t := setTurn{f, w, happens}
	t.handoff()
	t.mirror()
	t.machineAPI()
	t.clusterAPI()
	t.machinesEnd()
	t.people()
	t.checks()
}

// do is one change. Names of Machines mean nothing, so they are kept in order.
func (t *setTurn) do(by actor, what string, change func(*setPair)) {
	w := t.was
	change(&w)
	if t.was.step != (setStep{}) && w.step != (setStep{}) {
		w.step.lateM = w.step.lateM || w.m != t.was.m || w.current != t.was.current || w.requested != t.was.requested ||
			w.known != t.was.known || w.behind != t.was.behind
		w.step.lateC = w.step.lateC || w.c != t.was.c || w.told != t.was.told || w.held != t.was.held
	}
	slices.SortFunc(w.machines[:], func(a, b machinePair) int {
		return cmp.Or(-cmp.Compare(a.m, b.m), -cmp.Compare(a.c, b.c), cmp.Compare(boolean(a.refused), boolean(b.refused)),
			cmp.Compare(boolean(a.marked), boolean(b.marked)), cmp.Compare(boolean(a.stale), boolean(b.stale)))
	})
	t.happens(move{by: by, what: what, spontaneous: by == setUser}, w)
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *setTurn) can(d deeds) bool { return t.setPairs.may&d == d }

// handoff reads the sets, then the Machines, and writes the step that follows: three moments.
func (t *setTurn) handoff() {
	w := &t.was
	if w.step == (setStep{}) {
		if t.waits() {
			return // its next pass would write nothing
		}
		t.do(setHandoff, t.reads(true), func(w *setPair) {
			w.step = setStep{reading: true, read: w.state(0)}
			if t.rules.countsBefore {
				w.step.read = authority.State{Uncounted: w.uncounted()}
			}
		})
		return
	}
	if w.step.reading {
		t.do(setHandoff, t.reads(false), func(w *setPair) {
			s, late := w.step.read, w.step
			if t.rules.countsBefore {
				s, late = w.state(s.Uncounted), setStep{}
			} else {
				s.Uncounted, s.Judged = w.uncounted(), w.judged()
			}
			s.Judged = s.Judged && !t.forgetsMarks
			w.step = setStep{step: t.rules.next(s), lateM: late.lateM, lateC: late.lateC}
			w.step.step.Message = ""
			if !w.step.step.Action.Acts() {
				w.step = setStep{}
			}
		})
		return
	}
	t.do(setHandoff, "the handoff: "+words(w.step.step, w.step.lateM, w.step.lateC), func(w *setPair) {
		w.write(w.step)
		w.step = setStep{}
	})
	if t.can(crashes) {
		t.do(setUser, "the manager dies before it is written", func(w *setPair) { w.step = setStep{} })
	}
}

// reads names the first or the second read of a pass.
func (t *setTurn) reads(first bool) string {
	if first != t.rules.countsBefore {
		return "the handoff reads the sets"
	}
	return "the handoff lists their Machines"
}

// waits reports whether a pass that sees what is stored would write nothing.
func (t *setTurn) waits() bool {
	s := t.was.state(t.was.uncounted())
	s.Judged = s.Judged && !t.forgetsMarks
	return !t.rules.next(s).Action.Acts()
}

func words(s authority.Step, lateM, lateC bool) string {
	out := string(s.Action)
	if s.To != "" {
		out += " " + string(s.To)
	}
	if onMachineAPI(s) && lateM || !onMachineAPI(s) && lateC {
		out += ", refused: somebody was faster"
	}
	return out
}

func onMachineAPI(s authority.Step) bool {
	return s.Action == authority.Acknowledge || s.Action == authority.Switch || s.Action == authority.Adopt
}

// write carries a step out, unless what it is written to has changed.
func (w *setPair) write(d setStep) {
	if onMachineAPI(d.step) && d.lateM || !onMachineAPI(d.step) && d.lateC {
		return
	}
	switch d.step.Action {
	case authority.Acknowledge:
		w.current, w.origin = authority.Migrating, w.current
	case authority.Pause:
		w.told = true
	case authority.Release:
		w.told = false
	case authority.AddFinalizer:
		w.held = true
	case authority.Switch:
		w.current, w.origin = d.step.To, d.step.To
		if !d.step.Cancelled {
			w.known, w.behind = false, true
		}
	case authority.Adopt, authority.Rest, authority.Wait, authority.Settle:
	}
}

// mirror makes and follows the sets, and each Machine.
func (t *setTurn) mirror() {
	w := &t.was
	from := w.source()
	switch to := from.Other(); {
	case !w.c.here:
		t.do(setMirror, "the mirror makes Cluster API's set", func(w *setPair) {
			w.c, w.told, w.behind, w.known = setSide{here: true, replicas: w.m.replicas}, true, false, true
		})
	case w.behind || !w.known:
		t.do(setMirror, "the mirror makes "+to.Text()+"'s set equal", func(w *setPair) {
			w.set(to).replicas, w.behind, w.known = w.set(from).replicas, false, true
		})
	}
	for i, k := range w.machines {
		t.mirrorMachine(i, k)
	}
}

func (t *setTurn) mirrorMachine(i int, k machinePair) {
	w := &t.was
	if k.marked && !w.checked && w.told {
		t.do(setMirror, "the mirror takes the mark off a Machine at which no check looks", func(w *setPair) { w.machines[i].marked, w.machines[i].stale = false, false })
	}
	for _, a := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		on, other, twin := k.on(a), k.on(a.Other()), a.Other()
		// Cluster API's Machines are mirrored for a set for which Cluster API is authoritative.
		reflected := a == authority.MachineAPI || w.source() == authority.ClusterAPI
		switch {
		case on.has(here|going) && other.has(here) && !other.has(going):
			t.do(setMirror, "the mirror carries the deletion of a Machine to "+twin.Text(), func(w *setPair) { *w.machines[i].at(twin) |= going })
		case on.has(here) && !on.has(going) && !other.has(here) && !k.refused && reflected:
			t.do(setMirror, "the mirror makes the "+twin.Text()+" object of a Machine", func(w *setPair) {
				*w.machines[i].at(twin) = here
				if w.set(twin).here && on.has(mine) {
					*w.machines[i].at(twin) |= mine
				}
			})
		case counts(on) && other.has(here) && !other.has(mine) && w.set(twin).here && !t.forgetsOwner:
			t.do(setMirror, "the mirror makes the set the owner of the "+twin.Text()+" object of a Machine", func(w *setPair) { *w.machines[i].at(twin) |= mine })
		}
	}
}

// machineAPI is the controller of the Machine API's set: it reads live, decides and writes, and acknowledges a pause between two passes.
func (t *setTurn) machineAPI() {
	w := &t.was
	acts := w.current == authority.MachineAPI
	says := authority.AcknowledgedPaused
	if acts {
		says = authority.AcknowledgedUnpaused
	}
	if w.m.says != says {
		t.do(setController, fmt.Sprintf("Machine API's set controller acknowledges, acting: %v", acts), func(w *setPair) { w.m.says = says })
		return
	}
	if acts {
		t.scale(authority.MachineAPI)
	}
}

func (t *setTurn) scale(a authority.API) {
	w := &t.was
	switch n := w.number(a); {
	case n < w.set(a).replicas && w.room():
		t.creates(a)
	case n > w.set(a).replicas:
		t.do(setController, a.Text()+"'s set deletes a Machine", func(w *setPair) { w.judge(a); w.delete(a) })
	}
}

// creates is a creation of a set, judged when it was decided.
func (t *setTurn) creates(a authority.API) {
	create := func(w *setPair) {
		if a == authority.MachineAPI {
			w.judge(a)
		}
		w.creating = false
		for i := range w.machines {
			if w.machines[i] == (machinePair{}) {
				*w.machines[i].at(a) = here | mine
				return
			}
		}
	}
	t.do(setController, a.Text()+"'s set creates a Machine", create)
	if t.can(refusals) {
		t.do(setUser, a.Text()+"'s set creates a Machine that does not convert", func(w *setPair) { create(w); w.refuse() })
	}
}

// judge is about a set that creates a Machine although there are enough, or deletes one although there are not too many.
func (w *setPair) judge(a authority.API) {
	want, counted, staying := w.set(a).replicas, w.number(a), w.staying()
	switch {
	case counted < want && staying >= want:
		w.excess = createdInPlace
	case counted > want && staying <= want:
		w.excess = deletedForNothing
	}
}

// room reports whether there can be another Machine.
func (w *setPair) room() bool {
	return slices.Contains(w.machines[:], machinePair{})
}

func (w *setPair) refuse() {
	for i, k := range w.machines {
		if k.stays() && (k.m == 0 || k.c == 0) && !k.refused {
			w.machines[i].refused = true
			return
		}
	}
}

func (w *setPair) delete(a authority.API) {
	for i := range w.machines {
		if counts(w.machines[i].on(a)) {
			*w.machines[i].at(a) |= going
			return
		}
	}
}

// clusterAPI is Cluster API's controller: what a pass has decided to do it does, also if the set is paused meanwhile, and acknowledges only then.
func (t *setTurn) clusterAPI() {
	w := &t.was
	if !w.c.here {
		return
	}
	switch n := w.number(authority.ClusterAPI); {
	case w.creating:
		t.creates(authority.ClusterAPI)
	case w.deleting:
		t.do(setController, "Cluster API's set deletes a Machine", func(w *setPair) { w.delete(authority.ClusterAPI); w.deleting = false })
	case w.told && w.c.says != authority.AcknowledgedPaused:
		t.do(setController, "Cluster API's set controller acknowledges its pause", func(w *setPair) { w.c.says = authority.AcknowledgedPaused })
	case w.told:
	case w.c.says != authority.AcknowledgedUnpaused || !w.held:
		t.do(setController, "Cluster API's set controller acknowledges that it acts", func(w *setPair) { w.c.says, w.held = authority.AcknowledgedUnpaused, true })
	case n < w.c.replicas && w.room():
		t.do(setController, "Cluster API's set controller decides to create a Machine", func(w *setPair) { w.judge(authority.ClusterAPI); w.creating = true })
	case slices.ContainsFunc(w.machines[:], func(k machinePair) bool { return k.marked && counts(k.c) }):
		t.do(setController, "Cluster API's set deletes a Machine by its mark", (*setPair).deleteMarked)
	case n > w.c.replicas:
		t.do(setController, "Cluster API's set controller decides to delete a Machine", func(w *setPair) { w.judge(authority.ClusterAPI); w.deleting = true })
	}
}

// machinesEnd ends what is being deleted on both sides, or on the only one.
func (t *setTurn) machinesEnd() {
	for i, k := range t.was.machines {
		if k.m|k.c != 0 && (k.m == 0 || k.m.has(going)) && (k.c == 0 || k.c.has(going)) {
			t.do(setMachines, "a Machine that was deleted is gone", func(w *setPair) { w.machines[i] = machinePair{} })
		}
	}
}

func (w *setPair) deleteMarked() {
	for i := range w.machines {
		if k := &w.machines[i]; k.marked && counts(k.c) {
			if k.c |= going; k.stale {
				w.excess = deletedByMark
			}
			return
		}
	}
}

// checks is a check of Cluster API's, which looks at Machines there of either API's sets. A person deletes it, and what it has marked stays marked. The set
// that acts may be faster than all; what it deletes then is no matter of a move.
func (t *setTurn) checks() {
	w := &t.was
	if !t.can(remediates) || !w.c.here {
		return
	}
	if !w.checked {
		t.do(setUser, "somebody creates a check of Cluster API's", func(w *setPair) {
			w.checked = true
			for i := range w.machines {
				w.machines[i].stale = false
			}
		})
		return
	}
	t.do(setUser, "somebody deletes Cluster API's check", func(w *setPair) {
		w.checked = false
		for i := range w.machines {
			w.machines[i].stale = w.machines[i].marked && w.told && w.step == (setStep{})
		}
	})
	for i, k := range w.machines {
		switch {
		case k.marked:
			t.do(setUser, "a Node recovers, and the check takes its mark off the Machine", func(w *setPair) { w.machines[i].marked, w.machines[i].stale = false, false })
		case counts(k.c) && counts(k.m):
			t.do(setUser, "a check of Cluster API's marks a Machine", func(w *setPair) { w.machines[i].marked = true })
		}
	}
}

// people ask, take back, scale what admission lets them scale, and fix or delete Machines that do not convert.
func (t *setTurn) people() {
	w := &t.was
	if t.can(flips) {
		t.do(setUser, "somebody asks for "+w.requested.Other().Text(), func(w *setPair) { w.requested = w.requested.Other() })
	}
	// A review may read that Cluster API is authoritative, and its update is stored until the set is paused: from then on its resourceVersion is another.
	if a := w.source(); t.can(edits) && (w.current == a || a == authority.ClusterAPI && !w.told) && w.set(a).here {
		t.do(setUser, "somebody scales "+a.Text()+"'s set", func(w *setPair) {
			w.set(a).replicas, w.behind = (w.set(a).replicas+1)%mostMachines, true
		})
	}
	if t.can(deletes) && !w.creating && !w.deleting {
		t.deletesMirror()
	}
	for i, k := range w.machines {
		if k.refused && k.stays() {
			t.do(setUser, "somebody edits a Machine that does not convert", func(w *setPair) { w.machines[i].refused = false })
		}
	}
}

// deletesMirror: Cluster API's mirror is recreated by Poundlock, the Machine API's by who deleted it. A deletion waits until a move has settled.
func (t *setTurn) deletesMirror() {
	w := &t.was
	leaves := func(w *setPair, a authority.API) {
		for i := range w.machines {
			*w.machines[i].at(a) &^= mine
		}
	}
	switch {
	case w.current == authority.MachineAPI && w.c.here && w.told && w.c.says == authority.AcknowledgedPaused:
		t.do(setUser, "somebody deletes Cluster API's set, which is the mirror", func(w *setPair) {
			w.c, w.told, w.held = setSide{}, false, false
			leaves(w, authority.ClusterAPI)
		})
	case w.current == authority.ClusterAPI && !w.told && w.c.says == authority.AcknowledgedUnpaused && w.m.says == authority.AcknowledgedPaused:
		t.do(setUser, "somebody deletes the Machine API's set, which is the mirror, and recreates it", func(w *setPair) {
			w.requested, w.known, w.behind = authority.ClusterAPI, false, true
			leaves(w, authority.MachineAPI)
		})
	}
}

func (f *setPairs) wrong(w setPair) string { return firstBroken(setInvariants, f, &w) }

var setInvariants = []invariant[*setPairs, *setPair]{
	{"a set created a Machine in the place of one that there is", func(_ *setPairs, w *setPair) bool { return w.excess == createdInPlace }},
	{"a set deleted a Machine by the mark of a check of long ago", func(_ *setPairs, w *setPair) bool { return w.excess == deletedByMark }},
	{"a set deleted a Machine that nobody asked to end", func(_ *setPairs, w *setPair) bool { return w.excess == deletedForNothing }},
	{"both sets act", func(_ *setPairs, w *setPair) bool {
		return w.current == authority.MachineAPI && w.c.here && !w.told && w.m.says == authority.AcknowledgedUnpaused && w.c.says == authority.AcknowledgedUnpaused && w.creating
	}},
}

func (f *setPairs) unrest(w setPair) string {
	step := f.rules.next(w.state(w.uncounted()))
	switch {
	case step.Action == authority.Wait && step.Reason == authority.ReasonUncounted &&
		slices.ContainsFunc(w.machines[:], func(k machinePair) bool { return k.refused }):
		return "" // it names the Machine
	case step.Action != authority.Settle:
		return fmt.Sprintf("the handoff does not settle: %s %s", step.Action, step.Reason)
	case w.staying() != w.set(w.current).replicas:
		return fmt.Sprintf("there are %d Machines, and %s's set is to have %d", w.staying(), w.current.Text(), w.set(w.current).replicas)
	case w.m.replicas != w.c.replicas:
		return fmt.Sprintf("the sets are to have %d and %d Machines", w.m.replicas, w.c.replicas)
	}
	for _, k := range w.machines {
		if k.stays() && !counts(k.on(w.current)) {
			return "a Machine belongs to nobody"
		}
	}
	return ""
}

func (f *setPairs) describe(w setPair) string {
	out := fmt.Sprintf("status %s, from %s, asked for %s; Machine API's set: %d replicas, answer %d; Cluster API's: %d replicas, told %v, answer %d",
		w.current, w.origin, w.requested,
		w.m.replicas, w.m.says, w.c.replicas, w.told, w.c.says)
	for _, k := range w.machines {
		if k != (machinePair{}) {
			out += fmt.Sprintf("; a Machine: counted by Machine API %v, by Cluster API %v, refused %v", counts(k.m), counts(k.c), k.refused)
		}
	}
	return out
}

// movingSets walks a pair of sets that moves.
func movingSets(authoritative authority.API, fresh bool, may deeds) walking {
	return func(r rules, most int) result {
		return resultOf(&setPairs{rules: r, may: may, begin: map[string]setPair{nameOfSets(authoritative, fresh): newSetPair(authoritative, fresh)}}, most)
	}
}

func nameOfSets(authoritative authority.API, fresh bool) string {
	if fresh {
		return "a MachineSet that was just created, " + authoritative.Text() + "'s, and its Machines"
	}
	return "a MachineSet that is " + authoritative.Text() + "'s, and its Machines"
}
