// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/poundlock/poundlock/policies/authority"
)

// maxMachines is how many Machines a family has at most.
const maxMachines = 2

// family is a pair of MachineSets and the pairs of their Machines. Which API is authoritative for each has settled: what is walked here is deletion.
type family struct {
	sm, sc   member
	machines [maxMachines]ownedMachine
	// replicas is what the authoritative set is to have.
	replicas uint8
	// step is the request that the mirror has decided on and not yet made, for the set or a Machine.
	step decision
	// namespaceDeleted: the Cluster API namespace is being deleted, with all that is in it.
	namespaceDeleted bool
	// gate is the feature gate of the Machine API's controllers.
	gate gateIs
}

// gateIs is the feature gate, and whether Poundlock has seen it.
type gateIs uint8

const (
	gateOn gateIs = iota
	// gateOffUnseen: Poundlock has not stopped mirroring yet.
	gateOffUnseen
	gateOff
)

// member is an object of the family.
type member uint16

const (
	here member = 1 << iota
	going
	synch
	// holds is the finalizer of the object's own controller.
	holds
	foreground
	orphans
	// mine and once: the owner reference names the set that is there, or one that is gone.
	mine
	once
	// off is the mark of a Machine API object that was detached.
	off
	// asleep: the object's deletion is older than the feature gate's return.
	asleep
)

func (m member) has(bits member) bool { return m&bits == bits }

func (m member) presence() authority.Presence {
	switch {
	case !m.has(here):
		return authority.Absent
	case m.has(going):
		return authority.Deleting
	}
	return authority.Present
}

// ownedMachine is the pair of a Machine.
type ownedMachine struct {
	m, c member
	// runs reports that it has an instance, endedUnasked that it was terminated although nobody asked.
	runs, endedUnasked bool
	ends               end
	// clusters says for which Cluster API is authoritative it.
	clusters bool
	// freed: the collector made it an orphan, as somebody asked.
	freed bool
}

func (k ownedMachine) authoritative() authority.API {
	if k.clusters || !k.m.has(here) {
		return authority.ClusterAPI // what has no twin any more acts on its own
	}
	return authority.MachineAPI
}

// end is what people have asked for.
type end uint8

const (
	stays end = iota
	ends
	// either: both sets are deleted at the same time, and each in a way that means another end for their Machines.
	either
)

// decision is one request of the mirror's for one pair: 0 of is the set's, from 1 on the Machines'.
type decision struct {
	do deed
	of uint8
	// late: the object was written since.
	late bool
}

type deed uint8

const (
	nothing deed = iota
	removeM
	removeC
	freeM
	freeC
	endM
	endC
	forgetM
	forgetC
	detachM
	detachC
	joinM
	joinC
	disownC
	makeKidM
	makeMachineC
	enrolBoth
)

// families is the model of a family.
type families struct {
	rules
	// set is which API is authoritative for the sets, machine of the Machines that there are, and that a Machine API set makes by its template.
	set, machine authority.API
	begin        map[string]family
	may          deeds
	// calm: people delete nothing.
	calm bool
}

func (f *families) starts() map[string]family { return f.begin }

// newFamily is a family in step: two MachineSets, and so many Machines with instances.
func newFamily(of int, authoritative authority.API) family {
	w := family{sm: here | synch, sc: here | synch | holds, replicas: uint8(of)}
	for i := range of {
		w.machines[i] = ownedMachine{m: here | synch | holds | mine, c: here | synch | holds | mine, runs: true, clusters: authoritative == authority.ClusterAPI}
	}
	return w
}

func (w *family) sets(a authority.API) *member {
	if a == authority.MachineAPI {
		return &w.sm
	}
	return &w.sc
}

func (k *ownedMachine) on(a authority.API) *member {
	if a == authority.MachineAPI {
		return &k.m
	}
	return &k.c
}

// bury removes what nobody holds any more, and lets its children's owner references dangle.
func (w *family) bury() {
	for _, a := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		if s := w.sets(a); s.has(going) && *s&(synch|holds|foreground|orphans) == 0 {
			*s = 0
			for i := range w.machines {
				if k := w.machines[i].on(a); k.has(mine) {
					*k = *k&^mine | once
				}
			}
		}
		for i := range w.machines {
			if k := w.machines[i].on(a); k.has(going) && *k&(synch|holds|foreground|orphans) == 0 {
				*k = 0
			}
		}
	}
	for i := range w.machines {
		if k := &w.machines[i]; !k.m.has(here) && !k.c.has(here) && !k.runs && !k.endedUnasked {
			*k = ownedMachine{}
		}
	}
}

const (
	familyUser actor = iota
	familyMirror
	familyController
	familyCollector
	familyGate
)

func (f *families) moves(w family, happens func(move, family)) {
	t := familyTurn{f, w, happens}
	t.mirror()
	t.controllers()
	t.collector()
	t.namespace()
	t.people()
	t.gates()
}

type familyTurn struct {
	*families
	was     family
	happens func(move, family)
}

func (t *familyTurn) may(by actor, what string, change func(*family)) {
	w := t.was
	change(&w)
	w.bury()
	if w.step.do != nothing && w.step == t.was.step && w.touched(&t.was) {
		w.step.late = true
	}
	t.happens(move{by: by, what: what, spontaneous: by == familyUser}, w)
}

// touched reports whether the pair that the mirror has decided about was written.
func (w *family) touched(was *family) bool {
	if w.step.of == 0 {
		return w.sm != was.sm || w.sc != was.sc
	}
	return w.machines[w.step.of-1] != was.machines[w.step.of-1]
}

// unlocked are the deeds that carry no resourceVersion: deletions name the object by its UID.
var unlockedDeeds = map[deed]bool{removeM: true, removeC: true}

func (t *familyTurn) mirror() {
	if t.was.gate == gateOff {
		return
	}
	if step := t.was.step; step.do != nothing {
		t.may(familyMirror, "the mirror "+t.name(step), func(w *family) {
			w.step = decision{}
			if !step.late || unlockedDeeds[step.do] {
				t.perform(w, step)
			}
		})
		if t.can(crashes) {
			t.may(familyUser, "the manager dies before it is written", func(w *family) { w.step = decision{} })
		}
		return
	}
	for of := range uint8(maxMachines + 1) {
		if do := t.decide(of); do != nothing {
			t.may(familyMirror, "the mirror looks at "+t.subject(of), func(w *family) { w.step = decision{do: do, of: of} })
		}
	}
}

func (t *familyTurn) can(d deeds) bool { return t.families.may&d == d }

// decide asks authority.Deletion what follows for the sets (of is 0) or a Machine, as reconcilers/mirror gathers it.
func (t *familyTurn) decide(of uint8) deed {
	w := &t.was
	authoritative, m, c := t.set, w.sm, w.sc
	if of > 0 {
		authoritative, m, c = w.machines[of-1].authoritative(), w.machines[of-1].m, w.machines[of-1].c
	}
	if !m.has(here) {
		authoritative = authority.Unset
	}
	d := authority.Deletion{Authority: authoritative, MachineAPI: m.presence(), ClusterAPI: c.presence(), Marked: m.has(synch) || c.has(synch)}
	switch {
	case w.gate != gateOn:
		d.Gate = authority.GateOff
	case m.has(asleep):
		d.Gate = authority.GateOffThen
	}
	if w.namespaceDeleted {
		d.Surroundings = authority.Go
	}
	mirror := t.mirrorOf(authoritative, m, c)
	if of > 0 {
		d.Detached = m.has(off)
		d.Owned = mirror.has(here) && mirror&(mine|once) != 0
		if d.Owned && mirror.has(going) {
			d.Parent = t.parentOf(mirror, authoritative.Other())
		}
	} else if mirror.has(going) && authoritative != authority.Unset {
		d.Children = t.undetached(authoritative.Other()) != 0
	}
	if authoritative == authority.MachineAPI {
		d.Held = m.has(holds)
	} else {
		d.Held = c.has(holds)
	}
	return t.deed(of, t.rules.deletion(d), authoritative, m, c)
}

func (t *familyTurn) mirrorOf(authoritative authority.API, m, c member) member {
	switch authoritative {
	case authority.MachineAPI:
		return c
	case authority.ClusterAPI:
		return m
	}
	return 0
}

// parentOf is what the mirror finds of the sets above a Machine: one of another UID than the reference's is none.
func (t *familyTurn) parentOf(mirror member, side authority.API) authority.Parent {
	w := &t.was
	p := authority.Parent{MachineAPI: w.sm.presence(), ClusterAPI: w.sc.presence()}
	if w.sm.has(here) {
		p.Authority = t.set
	}
	if mirror.has(once) {
		if side == authority.MachineAPI {
			p.MachineAPI = authority.Absent
		} else {
			p.ClusterAPI = authority.Absent
		}
	}
	return p
}

// undetached is the first Machine on a side that the end of its set would end, from 1 on; 0: none.
func (t *familyTurn) undetached(side authority.API) uint8 {
	for i := range t.was.machines {
		k := t.was.machines[i].on(side)
		if k.has(here|mine) && !(side == authority.MachineAPI && k.has(off) && t.marks(t.was.machines[i])) {
			return uint8(i + 1)
		}
	}
	return 0
}

// deed is the next request of a step.
func (t *familyTurn) deed(of uint8, step authority.DeletionStep, authoritative authority.API, m, c member) deed {
	on := func(a authority.API, ifM, ifC deed) deed {
		if a == authority.MachineAPI {
			return ifM
		}
		return ifC
	}
	switch step {
	case authority.DeleteMirror:
		return on(authoritative.Other(), removeM, removeC)
	case authority.DeleteAuthority:
		return on(authoritative, removeM, removeC)
	case authority.DetachChildren:
		return on(authoritative.Other(), detachM, detachC)
	case authority.ReleaseMirror:
		return on(authoritative.Other(), held(m, freeM), held(c, freeC))
	case authority.ReleaseAuthority:
		return on(authoritative, held(m&^holds, endM), held(c&^holds, endC))
	case authority.Forget:
		if m.has(here) {
			return forgetM
		}
		return held(c&^holds, forgetC)
	case authority.KeepMirroring:
		return t.keep(of, authoritative, m, c)
	}
	return nothing
}

func held(m member, d deed) deed {
	if m&(synch|holds) != 0 {
		return d
	}
	return nothing
}

// keep makes the mirror of what has none, and joins a Machine's mirror to the mirror of its set.
func (t *familyTurn) keep(of uint8, authoritative authority.API, m, c member) deed {
	w := &t.was
	switch {
	case w.namespaceDeleted && (!m.has(here) || !c.has(here)):
		return nothing // it recreates nothing until its surroundings are there again
	case !m.has(here):
		if of > 0 && c.presence() == authority.Present && c.has(mine) && w.sc.presence() == authority.Present && w.sm.presence() == authority.Present &&
			t.set == authority.ClusterAPI {
			return makeKidM
		}
		return nothing
	case !c.has(here):
		return makeMachineC
	case !m.has(synch) || !c.has(synch):
		return enrolBoth
	case of > 0 && authoritative == authority.MachineAPI && m.has(mine) && w.sc.presence() == authority.Present && !c.has(mine):
		return joinC
	case of > 0 && !t.forgetsOwner && t.restores(authoritative, m, c):
		return map[authority.API]deed{authority.MachineAPI: joinM, authority.ClusterAPI: joinC}[authoritative]
	case of > 0 && authoritative == authority.MachineAPI && c.has(mine) &&
		(t.losesOwner && !(m.has(mine) && w.sc.presence() == authority.Present) || !m.has(mine) && w.sm.has(here) && t.set == authority.MachineAPI):
		return disownC // a set of Cluster API's that acts keeps what it owns
	case of > 0 && authoritative == authority.ClusterAPI && c.has(mine) && w.sm.presence() == authority.Present && (!m.has(mine) || m.has(off)):
		return joinM
	}
	return nothing
}

// restores reports whether an authoritative Machine is to belong to its set again, which does not act and was recreated: the other set owns
// its mirror. The write and the end of the set exclude each other.
func (t *familyTurn) restores(authoritative authority.API, m, c member) bool {
	machine, mirror := m, c
	if authoritative == authority.ClusterAPI {
		machine, mirror = c, m
	}
	return !t.was.namespaceDeleted && t.set == authoritative.Other() && mirror.has(mine) && !mirror.has(off) && !machine.has(mine) &&
		t.was.sm.presence() == authority.Present && t.was.sc.presence() == authority.Present
}

func (t *familyTurn) perform(w *family, d decision) {
	m, c := &w.sm, &w.sc
	if d.of > 0 {
		m, c = &w.machines[d.of-1].m, &w.machines[d.of-1].c
	}
	remove := func(o *member) {
		if o.has(here) && !o.has(going) {
			if *o |= going; d.of == 0 {
				*o |= orphans // the mirror's Machines follow their own twins
			}
		}
	}
	owner := func(o *member, a authority.API) {
		if *o &^= mine | once; d.of > 0 && w.sets(a).presence() == authority.Present {
			*o |= mine
		}
	}
	switch d.do {
	case removeM:
		remove(m)
	case removeC:
		remove(c)
	case freeM:
		*m &^= synch | holds
	case freeC:
		*c &^= synch | holds
	case endM, forgetM:
		*m &^= synch
		if d.do == forgetM {
			*c &^= synch
		}
	case endC, forgetC:
		*c &^= synch
	case detachM:
		if i := t.undetachedOf(w, authority.MachineAPI); i > 0 {
			if t.marks(w.machines[i-1]) {
				w.machines[i-1].m |= off
			} else {
				w.machines[i-1].m &^= mine | once
			}
		}
	case detachC:
		if i := t.undetachedOf(w, authority.ClusterAPI); i > 0 {
			w.machines[i-1].c &^= mine | once
		}
	case joinM:
		owner(m, authority.MachineAPI)
		*m &^= off
	case joinC:
		owner(c, authority.ClusterAPI)
	case disownC:
		*c &^= mine
	case makeKidM:
		*m = here | synch
		owner(m, authority.MachineAPI)
		*c |= synch
	case makeMachineC:
		*c = here | synch | holds
		if m.has(mine) {
			owner(c, authority.ClusterAPI)
		}
		*m |= synch
	case enrolBoth:
		if !m.has(going) && !c.has(going) {
			*m, *c = *m|synch, *c|synch
		}
	}
}

// marks reports whether a Machine API Machine is detached by a mark: one for which the Machine API is authoritative has to be taken out of the
// collector's reach.
func (t *familyTurn) marks(k ownedMachine) bool { return k.clusters || t.marksOnly }

func (t *familyTurn) undetachedOf(w *family, side authority.API) uint8 {
	u := familyTurn{t.families, *w, nil}
	return u.undetached(side)
}

func (t *familyTurn) subject(of uint8) string {
	if of == 0 {
		return "the MachineSets"
	}
	return fmt.Sprintf("Machine %d", of)
}

var deedWords = map[deed]string{
	removeM: "deletes the Machine API object of", removeC: "deletes the Cluster API object of", freeM: "releases the Machine API mirror of",
	freeC: "releases the Cluster API mirror of",
	endM:  "lets the Machine API object go of", endC: "lets the Cluster API object go of", forgetM: "forgets the twin of", forgetC: "forgets the twin of",
	detachM: "marks a Machine detached for", detachC: "takes an owner reference off a Cluster API Machine for",
	joinM: "makes its set the owner of the Machine API object of",
	joinC: "makes its set the owner of the Cluster API object of", disownC: "makes the Cluster the owner of the Cluster API object of",
	makeKidM: "makes the Machine API object of", makeMachineC: "makes the Cluster API object of", enrolBoth: "enrols both objects of",
}

func (t *familyTurn) name(d decision) string {
	what := deedWords[d.do] + " " + t.subject(d.of)
	if d.late && !unlockedDeeds[d.do] {
		return "is refused, somebody was faster: it " + what
	}
	return what
}

// controllers are those of the sets and of the Machines, each on its side, where that is authoritative.
func (t *familyTurn) controllers() {
	w := &t.was
	acts := t.set
	if !w.sm.has(here) {
		acts = authority.ClusterAPI // it has no twin any more, and acts on its own
	}
	if s := *w.sets(acts); s.presence() == authority.Present {
		t.scale(acts)
	}
	if w.sc.has(going|holds) && acts == authority.ClusterAPI {
		t.endSet()
	}
	for i := range w.machines {
		t.machineController(i)
	}
}

// endSet is Cluster API's controller of a MachineSet that is being deleted: it deletes the set's Machines, and waits until they are gone.
func (t *familyTurn) endSet() {
	left := false
	for i := range t.was.machines {
		c := t.was.machines[i].c
		left = left || c.has(here|mine)
		if c.has(here|mine) && !c.has(going) {
			t.may(familyController, fmt.Sprintf("Cluster API's controller deletes Machine %d of the MachineSet that is being deleted",
				i+1), func(w *family) { w.machines[i].c |= going })
		}
	}
	if !left {
		t.may(familyController, "Cluster API's controller takes its finalizer off the MachineSet", func(w *family) { w.sc &^= holds })
	}
}

func (t *familyTurn) machineController(i int) {
	k := t.was.machines[i]
	acts := k.authoritative()
	o := *k.on(acts)
	switch {
	case o.presence() == authority.Present && !o.has(holds):
		t.may(familyController, fmt.Sprintf("%s's controller puts its finalizer on Machine %d", acts.Text(), i+1),
			func(w *family) { *w.machines[i].on(acts) |= holds })
	case o.presence() == authority.Present && !k.runs:
		t.may(familyController, fmt.Sprintf("%s's controller creates the instance of Machine %d", acts.Text(), i+1), func(w *family) { w.machines[i].runs = true })
	case acts == authority.ClusterAPI && o.has(going|once):
		// Cluster API never ends a Machine whose MachineSet it does not find.
	case o.has(going | holds):
		t.may(familyController, fmt.Sprintf("%s's controller ends the instance of Machine %d", acts.Text(), i+1), func(w *family) {
			n := &w.machines[i]
			n.endedUnasked = n.runs && n.ends == stays
			n.runs = false
			*n.on(acts) &^= holds
		})
	}
}

// scale keeps the authoritative set at its number: it deletes one of its Machines, whichever API is authoritative for that, or makes one.
func (t *familyTurn) scale(a authority.API) {
	n, free, last := 0, -1, -1
	for i := range t.was.machines {
		switch k := t.was.machines[i].on(a); {
		case k.has(here|mine) && !k.has(going):
			n, last = n+1, i
		case t.was.machines[i] == ownedMachine{}:
			free = i
		}
	}
	switch {
	case n > int(t.was.replicas):
		t.may(familyController, fmt.Sprintf("the MachineSet's controller scales down and deletes Machine %d", last+1), func(w *family) {
			w.machines[last].ends = ends
			*w.machines[last].on(a) |= going
		})
	case n < int(t.was.replicas) && free >= 0 && !(t.was.namespaceDeleted && a == authority.ClusterAPI): // nothing is created in a namespace that is being deleted
		t.may(familyController, fmt.Sprintf("the MachineSet's controller makes Machine %d", free+1), func(w *family) {
			w.machines[free].clusters = a == authority.ClusterAPI || t.machine == authority.ClusterAPI
			*w.machines[free].on(a) = here | mine
		})
	}
}

// collector is the garbage collector: in the background, in the foreground, and where orphans are to be left.
func (t *familyTurn) collector() {
	for _, a := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		s, name := *t.was.sets(a), a.Text()
		left := false
		for i := range t.was.machines {
			k := *t.was.machines[i].on(a)
			left = left || k.has(here|mine)
			if k.presence() == authority.Present && (k.has(once) || k.has(mine) && s.has(foreground)) {
				t.may(familyCollector, fmt.Sprintf("the garbage collector deletes %s's Machine %d", name, i+1), func(w *family) { *w.machines[i].on(a) |= going })
			}
		}
		if s.has(foreground) && !left {
			t.may(familyCollector, "the garbage collector is done with "+name+"'s MachineSet", func(w *family) { *w.sets(a) &^= foreground })
		}
		if s.has(orphans) {
			t.may(familyCollector, "the garbage collector makes orphans of the Machines of "+name+"'s MachineSet", func(w *family) {
				*w.sets(a) &^= orphans
				for i := range w.machines {
					k := &w.machines[i]
					k.freed = k.freed || k.on(a).has(mine) && t.setEnds(a)
					*k.on(a) &^= mine | once
				}
			})
		}
	}
}

// namespace is the namespace controller: it deletes what is in a namespace that is being deleted, in any order.
func (t *familyTurn) namespace() {
	w := &t.was
	if t.can(vanishes) && !w.namespaceDeleted {
		t.may(familyUser, "somebody deletes the Cluster API namespace", func(w *family) {
			w.namespaceDeleted = true
			for i := range w.machines {
				switch k := &w.machines[i]; {
				case k.authoritative() == authority.ClusterAPI:
					k.ends = ends
				case k.ends == ends:
					k.ends = either // its deletion may not have been carried over yet
				}
			}
		})
	}
	if !w.namespaceDeleted {
		return
	}
	if w.sc.presence() == authority.Present {
		t.may(familyCollector, "the namespace controller deletes Cluster API's MachineSet", func(w *family) { w.sc |= going })
	}
	for i := range w.machines {
		if w.machines[i].c.presence() == authority.Present {
			t.may(familyCollector, fmt.Sprintf("the namespace controller deletes Cluster API's Machine %d", i+1), func(w *family) { w.machines[i].c |= going })
		}
	}
}

// gates is the feature gate that is off for a while: the Machine API's controller of MachineSets then looks at no authority, and deletes what it has too many
// of. (Admission refuses what it would create.) How many that are depends on whose replicas it last saw. On the gate's return nobody knows which deletions were
// whose.
func (t *familyTurn) gates() {
	w := &t.was
	switch {
	case !t.can(ungates):
		return
	case w.gate == gateOn:
		t.may(familyUser, "somebody turns the feature gate off", func(w *family) {
			w.gate = gateOffUnseen
			for i := range w.machines {
				if k := &w.machines[i]; k.clusters && k.m.has(going) && k.ends == ends {
					k.ends = either // it may not have been carried over yet
				}
			}
		})
		return
	case w.gate == gateOffUnseen:
		t.may(familyGate, "Poundlock sees that the feature gate is off, and stops", func(w *family) { w.gate, w.step = gateOff, decision{} })
	default:
		t.may(familyGate, "the feature gate is turned on again", func(w *family) {
			w.gate = gateOn
			for i := range w.machines {
				if k := &w.machines[i]; k.m.has(going) {
					k.m |= asleep
				}
			}
		})
	}
	for i, k := range w.machines {
		if t.set == authority.ClusterAPI && k.clusters && k.m.has(here|mine) && !k.m.has(going) {
			t.may(familyUser, fmt.Sprintf("Machine API's set, which looks at no authority, deletes its object of Machine %d", i+1), func(w *family) { w.machines[i].m |= going })
		}
	}
}

// people delete, scale and recreate, and mean what converting › Summary of the rules and DESIGN §3.3 say.
func (t *familyTurn) people() {
	w := &t.was
	for _, a := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		if t.calm {
			break
		}
		t.deleteSet(a)
		for i := range w.machines {
			if k := *w.machines[i].on(a); k.presence() == authority.Present {
				t.may(familyUser, fmt.Sprintf("somebody deletes %s's Machine %d", a.Text(), i+1), func(w *family) {
					w.machines[i].ends = t.meantMachine(&t.was, i, a)
					*w.machines[i].on(a) |= going
				})
			}
		}
	}
	if t.can(edits) {
		t.may(familyUser, "somebody scales the authoritative MachineSet", func(w *family) { w.replicas = (w.replicas + 1) % (maxMachines + 1) })
	}
	if t.can(recreates) && !w.sm.has(here) && w.sc.presence() == authority.Present && t.set == authority.ClusterAPI {
		t.may(familyUser, "somebody makes the Machine API MachineSet again", func(w *family) { w.sm = here })
	}
}

// meantMachine reports whether a Machine's deletion is meant to end its instance. A mirror whose set is on its way out may be taken for the collector's.
func (t *familyTurn) meantMachine(w *family, i int, on authority.API) end {
	k := &w.machines[i]
	authoritative := k.authoritative()
	switch o := *k.on(on); {
	case k.ends == ends || authoritative == on:
		return ends
	case w.gate != gateOn && t.set == authority.ClusterAPI && on == authority.MachineAPI:
		return k.ends // it looks as if Machine API's set had deleted it
	case w.namespaceDeleted:
		return either // nothing is carried over
	case o&(mine|once) == 0 || o.has(off) || !k.on(authoritative).has(here):
		return k.ends
	case o.has(once) || w.sm.presence() != authority.Present || w.sc.presence() != authority.Present:
		return either
	}
	return ends
}

func (t *familyTurn) deleteSet(a authority.API) {
	if t.was.sets(a).presence() != authority.Present {
		return
	}
	for _, policy := range []struct {
		bit  member
		name string
	}{{0, ""}, {foreground, ", in the foreground"}, {orphans, ", leaving orphans"}} {
		t.may(familyUser, "somebody deletes "+a.Text()+"'s MachineSet"+policy.name, func(w *family) {
			*w.sets(a) |= going | policy.bit
			for i := range w.machines {
				if w.machines[i].ends = t.meant(w, i, a, policy.bit); w.namespaceDeleted && w.machines[i].ends == ends && w.machines[i].authoritative() == authority.MachineAPI {
					w.machines[i].ends = either
				}
			}
		})
	}
}

// meant returns what the deletion of a set means for a Machine: all that the authoritative set owns ends with it, unless orphans are to be
// left. Of the mirror, a deletion in the foreground has the collector delete what it owns at once: the Machines that its side is authoritative
// for may end before anybody can prevent it.
func (t *familyTurn) meant(w *family, i int, on authority.API, policy member) end {
	k := &w.machines[i]
	switch {
	case k.ends == ends && k.on(k.authoritative()).presence() == authority.Present && (policy == orphans || !t.setEnds(on) || !k.on(on).has(mine)):
		return either // for a mirror of a Machine that was deleted, it is no longer known whether that was the collector
	case k.ends == ends || !k.on(on).has(here|mine):
		return k.ends
	case !w.sets(on).has(synch):
		return either // the mirror has not seen this set yet, and cannot detach anything from it
	case w.sets(on.Other()).has(going):
		return either
	case policy == orphans && t.setEnds(on) && on == authority.ClusterAPI:
		return either // Cluster API's own controller may be faster than the collector that makes orphans
	case policy != orphans && t.setEnds(on):
		return ends
	case policy == foreground && k.authoritative() == on:
		return either
	}
	return k.ends
}

// setEnds reports whether the end of a side's set is meant to be the end of its Machines: it is authoritative, or alone.
func (t *familyTurn) setEnds(a authority.API) bool {
	return !t.was.sm.has(here) || t.set == a
}

func (f *families) wrong(w family) string { return firstBroken(familyInvariants, f, &w) }

var familyInvariants = []invariant[*families, *family]{
	{"the instance of a Machine was ended, and nobody asked for that", func(_ *families, w *family) bool {
		return slices.ContainsFunc(w.machines[:], func(k ownedMachine) bool { return k.endedUnasked })
	}},
	{"the instance of a Machine was left behind: neither object is there any more", func(_ *families, w *family) bool {
		return slices.ContainsFunc(w.machines[:], func(k ownedMachine) bool { return k.runs && !k.m.has(here) && !k.c.has(here) })
	}},
}

// setActs is the API whose set acts: the authoritative one, or Cluster API's where it is alone.
func (f *families) setActs(w family) authority.API {
	if !w.sm.has(here) {
		return authority.ClusterAPI
	}
	return f.set
}

func (f *families) unrest(w family) string {
	for name, o := range map[string]member{"the Machine API MachineSet": w.sm, "the Cluster API MachineSet": w.sc} {
		if o.has(going) {
			return "the deletion of " + name + " never ends"
		}
	}
	acts := f.setActs(w)
	for i, k := range w.machines {
		switch {
		case !w.namespaceDeleted && w.sets(acts).presence() == authority.Present && k.on(acts).has(here) && !k.on(acts).has(mine) && k.m.has(here) && !k.freed:
			return fmt.Sprintf("Machine %d runs, and %s's MachineSet, which goes on, does not count it", i+1, acts.Text())
		case k.m.has(going) || k.c.has(going):
			return fmt.Sprintf("the deletion of Machine %d never ends", i+1)
		case k.c.has(here|synch) && !k.m.has(here):
			return fmt.Sprintf("a stale sync finalizer is left on Machine %d", i+1)
		case k.ends == ends && k.runs:
			return fmt.Sprintf("the instance of Machine %d was to end, and runs", i+1)
		case (k.m.has(here) || k.c.has(here)) && !k.runs && !(w.namespaceDeleted && k.clusters):
			return fmt.Sprintf("Machine %d has no instance", i+1)
		}
	}
	return ""
}

func (f *families) describe(w family) string {
	out := fmt.Sprintf("MachineSets: Machine API %s, Cluster API %s", w.sm.presence(), w.sc.presence())
	for i, k := range w.machines {
		out += fmt.Sprintf("; Machine %d: Machine API %s, Cluster API %s, instance: %v", i+1, k.m.presence(), k.c.presence(), k.runs)
	}
	return out
}
