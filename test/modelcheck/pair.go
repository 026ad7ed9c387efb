// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
)

// which is a set of objects of a pair, one bit for each object.
type which uint8

const (
	ofM which = 1 << iota
	ofC
	ofI
	ofK
)

// pair is one state of the model: what is stored of a Machine or a set in both APIs, what each controller has seen of it, and which work each has begun.
type pair struct {
	// m is the Machine API object, c the Cluster API object, i the provider's, and k what the provider keeps for the instance (authority.InfraInstanceKind).
	m, c, i, k object
	// core, infra and instance are the caches of Cluster API's core controller and of the provider's two controllers.
	core, infra, instance view
	// handoff and mirror are the passes of Poundlock's reconcilers. former is the pass of a leader that has lost its lease and has not noticed.
	handoff, mirror, former pass
	// work is where the Machine API's controller is in its pass. behind: somebody else has written its object since the controller read it.
	work   work
	behind bool
	cloud  cloud
	will   will
	// halted is Cluster.spec.paused.
	halted bool
	// away: Poundlock is removed, and its admission with it.
	away bool
	// restored: a backup has brought the provider's object back, so it may be without an owner.
	restored bool
}

// view is a cache. seen is the version that it shows. next is one version that came after seen and is older than what is stored; 0: none.
type view struct{ seen, next object }

// pass is a reconciler's pass. While it is reading, m, c, i and k are the objects that it has read so far. While it is writing, left is what it has yet to
// write.
type pass struct {
	phase      phase
	m, c, i, k object
	left       plan
	// dirty: the objects that somebody else has written since the pass read them. gone: those that have ceased to exist. grown: those whose generation has moved.
	// edited: those whose spec a person has changed.
	dirty, gone, grown, edited which
}

type phase uint8

const (
	idle phase = iota
	// readingKept: the pass has yet to read what the provider keeps for the instance, and after that the rest.
	readingKept
	reading
	writing
)

// work is where in its pass the Machine API's machine controller is: its next action.
type work uint8

const (
	noWork work = iota
	toHold
	toStorePhase
	toCreate
	toStore
	toLook
	toDelete
	toRelease
)

// cloud is what runs: an instance that Machine API made (byM), or one that the provider's controller of Cluster API made (byC).
type cloud uint8

const (
	byM cloud = 1 << iota
	byC
	// answer: the provider's controller has made the instance and has not stored its ID yet.
	answer
	// endedUnasked: an instance was terminated, and nobody had asked for that.
	endedUnasked
)

func (c cloud) runs() bool { return c&(byM|byC) != 0 }

// will is what people have asked for: that the instance be terminated, or something that may be understood so (maybe).
type will uint8

const (
	deletionExpected will = 1 << iota
	maybe
	// endedOnItsWayBack is no wish of a person. The Machine API's controller, with its feature gate off, has terminated the instance in mid-move.
	endedOnItsWayBack
	// deletedAway: while Poundlock was away, somebody deleted the Cluster API object, which was authoritative.
	deletedAway
)

// pairs is the model of a pair.
type pairs struct {
	rules
	// set reports whether the pair is a MachineSet or a MachineHealthCheck: it has no instance, and no object of the provider's acts.
	set bool
	// check reports whether the pair is a MachineHealthCheck. The model treats it as a set on which no controller puts a finalizer.
	check bool
	// neverAcknowledges reports whether the provider's controller never acknowledges a pause. Poundlock then waits for half a minute instead.
	neverAcknowledges bool
	// keeps is whether the provider keeps an object for each instance, and who creates it.
	keeps keeps
	// family describes the pair of MachineSets that owns the pair; zero: no set owns it.
	family authority.Parent
	may    deeds
	// writes are the writes that the neighbours of the pair may make.
	writes []neighbourWrite
	begin  map[string]pair

	plans    plans
	handoffs map[[4]object]plan
	mirrors  map[[4]object]plan
	parties  map[[4]object]providersParty
	asked    map[asking]op
	gates    map[object]gate
	answers  map[review]bool
}

// deeds are what may happen in a walk beside what fairness promises. Some of them set how finely the walk interleaves the actors (torn, anyDelay, skips).
type deeds uint32

const (
	flips deeds = 1 << iota
	edits
	deletes
	recreates
	crashes
	// halts: people pause the Cluster as a whole.
	halts
	// torn: a pass reads its objects one after the other, and others act in between. anyDelay: a pass also begins if it has nothing to do.
	torn
	anyDelay
	// skips: a cache may also show a version between the one that it shows and what is stored.
	skips
	// leaders: a leader that has lost its lease goes on with its pass.
	leaders
	// decides: if a condition asks for it, a person sets the annotation which says that no instance exists.
	decides
	// refusals: a Machine does not convert until somebody edits it.
	refusals
	// vanishes: somebody deletes the Cluster API namespace.
	vanishes
	// visits: a neighbour writes what a row of authority.Grants allows it to write.
	visits
	// twice: people create the Machine in both APIs at once, so neither creation's review sees the twin. They then do what a condition advises.
	twice
	// labels: while the source's controllers act, they write labels to their object. Labels do not change its generation.
	labels
	// remediates: a check that acts asks another component to remediate a Machine, and takes the request back when the Machine is healthy.
	remediates
	// ungates: the feature gate of the Machine API's controllers is off for a while.
	ungates
	// strips: a mirrored Machine that has an instance is being deleted, and somebody takes the finalizer of Cluster API's controller off it.
	strips
	// aways: Poundlock is removed for a while, and meanwhile somebody deletes the Cluster API object that is authoritative.
	aways
)

func (p *pairs) can(d deeds) bool { return p.may&d == d }

func (p *pairs) starts() map[string]pair { return p.begin }

// source returns the API that is authoritative by what is stored.
func (w *pair) source() authority.API { return w.m.source() }

func (w *pair) at(o which) *object {
	switch o {
	case ofM:
		return &w.m
	case ofC:
		return &w.c
	case ofK:
		return &w.k
	}
	return &w.i
}

// side returns the objects that an API's mirror is made from: a change of their generation is a change that the mirror has to follow.
func side(a authority.API) which {
	switch a {
	case authority.MachineAPI:
		return ofM
	case authority.ClusterAPI:
		return ofC | ofI
	}
	return 0
}

// wrote records that the object o has been written. Passes and controllers that read o before are marked as outdated. If o is being deleted and nobody holds
// it, wrote removes it.
func (w *pair) wrote(o which, by mover, grows bool) {
	w.note(&w.handoff, o, by == handoff, grows)
	w.note(&w.mirror, o, by == mirror, grows)
	w.note(&w.former, o, by == former, grows)
	if o == ofM && by != machineAPI && w.work != noWork {
		w.behind = true
	}
	if grows && side(w.source())&o != 0 {
		w.m.clear(caught | compared)
	}
	w.bury(o, by)
}

func (w *pair) note(p *pass, o which, own, grows bool) {
	if p.phase == idle || own {
		return
	}
	p.dirty |= o
	if grows {
		p.grown |= o
	}
}

// bury removes the object o if it is being deleted and no finalizer holds it.
func (w *pair) bury(o which, by mover) {
	if at := w.at(o); !at.has(leaving) || at.held() {
		return
	}
	*w.at(o) = 0
	for _, p := range []struct {
		*pass
		mover
	}{{&w.handoff, handoff}, {&w.mirror, mirror}, {&w.former, former}} {
		if p.phase != idle && p.mover != by { // after its own request, the pass knows from the answer what is left
			p.gone |= o
		}
	}
	switch { // the spec of the object that is left now counts as the last one that was asked for
	case o == ofC && w.m.has(there):
		w.m.set(fresh)
		w.m.clear(lacking)
	case o == ofM && w.c.has(there):
		w.c.set(fresh)
		w.c.clear(lacking)
	}
	if o == ofC && w.i.has(owned) {
		w.i.clear(owned)
		w.i.set(dangling)
	}
	if o == ofI && w.k.has(owned) {
		w.k.clear(owned)
		w.k.set(dangling)
	}
	if !w.m.has(there) && !w.c.has(there) && !w.i.has(there) && !w.k.has(there) && !w.cloud.runs() {
		w.will = 0
	}
}

// held reports whether the object has a finalizer, which keeps it when it is deleted.
func (o object) held() bool { return o&(syncFin|ctlFin|fg|orph) != 0 }

// changed calls wrote if the object is no longer what it was. A request that changes nothing is no write.
func (w *pair) changed(o which, was object, by mover, grows bool) {
	if *w.at(o) != was {
		w.wrote(o, by, grows)
	}
}

// remove requests the deletion of an object, if it exists and is not being deleted yet.
func (w *pair) remove(o which, by mover) {
	if at := w.at(o); at.has(there) && !at.has(leaving) {
		at.set(leaving)
		w.wrote(o, by, true)
	}
}

// moves calls happens with each change that an actor can make next in w.
func (p *pairs) moves(w pair, happens func(move, pair)) {
	t := turn{pairs: p, was: w, happens: happens}
	for _, a := range pairActors {
		a.Moves(&t)
	}
}

// turn is one state, was, and the function happens, which each actor calls for every change that it can make in that state.
type turn struct {
	*pairs
	was     pair
	happens func(move, pair)
}

// may emits a change that fairness promises, made by an actor. might emits a change that may never happen, such as a person's.
func (t *turn) may(by mover, what string, change func(*pair)) {
	t.emit(move{by: by, what: what}, change)
}

func (t *turn) might(what string, change func(*pair)) {
	t.emit(move{by: user, what: what, spontaneous: true}, change)
}

// emit calls happens with the state that a change leads to.
func (t *turn) emit(m move, change func(*pair)) {
	w := t.was
	change(&w)
	t.trim(&w)
	if t.keeps != keepsNothing {
		w.infra.heedsItself(w.showI())
		w.instance.heedsItself(w.showK())
	}
	w.lag(&t.was, t.can(skips))
	t.happens(m, w)
}

// trim clears from w what nobody will decide from any more, so states that differ only in that become one. For example, a pass ends early if its next request
// is sure to be refused.
func (p *pairs) trim(w *pair) {
	if !p.can(aways) || w.source() != authority.ClusterAPI {
		w.m.clear(recorded)
	}
	for _, at := range []*pass{&w.handoff, &w.mirror, &w.former} {
		if at.phase != writing {
			continue
		}
		next := &requests[p.plans.lists[at.left][0]]
		if next.lock == byVersion && at.dirty&next.on != 0 && !p.unlocked {
			*at = pass{}
			continue
		}
		c := p.plans.cares[at.left]
		at.dirty, at.gone, at.grown, at.edited = at.dirty&c.dirty, at.gone&c.gone, at.grown&c.grown, at.edited&c.edited
	}
	switch {
	case w.work == toLook:
		w.behind = false
	case w.behind && (w.work == toHold || w.work == toStorePhase || w.work == toStore || w.work == toRelease):
		w.work, w.behind = noWork, false
	}
}

// lag keeps in each cache a version between what the cache shows and what is stored. It does so only in walks with the deed skips.
func (w *pair) lag(was *pair, skips bool) {
	if !skips {
		return
	}
	w.core.lag(was.showC(), w.showC())
	w.infra.lag(was.showI(), w.showI())
	w.instance.lag(was.showK(), w.showK())
}

func (v *view) lag(was, now object) {
	if was != now && v.next == 0 && v.seen != was {
		v.next = was
	}
}

// showC, showI and showK return what a cache that is up to date would show, as far as its controller acts on it. A provider leaves an object without an owner
// alone, even if that has the provider's finalizer.
func (w *pair) showC() object {
	return w.show(w.c & (there | leaving | syncFin | ctlFin | pauseRequested | acting | paused | hooked))
}
func (w *pair) showI() object {
	if w.restored && w.i&(owned|dangling) == 0 {
		return 0
	}
	return w.show(w.i & (there | leaving | ctlFin | pauseRequested | acting | paused | pid))
}
func (w *pair) showK() object {
	return w.show(w.k & (there | leaving | ctlFin | pauseRequested | acting | paused | pid))
}

func (w *pair) show(o object) object {
	if w.halted && o != 0 {
		o |= stopped
	}
	return o
}

// mayAct reports whether a controller of Cluster API that sees this version may do more than to acknowledge. A version without the pause annotation is enough.
// The model does not rely on the controller to acknowledge before it acts.
func (o object) mayAct() bool { return o.has(there) && o&(pauseRequested|stopped) == 0 }

func (p *pairs) wrong(w pair) string { return firstBroken(pairInvariants, p, &w) }

// pairInvariants lists the invariants of DESIGN §4, and those of a Machine's creation.
var pairInvariants = []invariant[*pairs, *pair]{
	{"both sides' controllers can act", (*pairs).bothMayAct},
	{"a check has moved away from its request to remediate, which nobody takes back", func(p *pairs, w *pair) bool {
		return p.check && (w.m.status() == authority.MachineAPI && w.c.has(requesting) || w.m.status() == authority.ClusterAPI && w.m.has(requesting))
	}},
	{"an object that somebody deleted is created again, with an instance that nobody asked for", func(_ *pairs, w *pair) bool {
		return w.will&deletedAway != 0 && w.c.has(there) && !w.c.has(leaving)
	}},
	{"there are two instances", func(_ *pairs, w *pair) bool { return w.cloud&(byM|byC) == byM|byC }},
	{"an instance was ended that nobody asked to end", func(_ *pairs, w *pair) bool { return w.cloud&endedUnasked != 0 }},
	{"an instance has nobody who holds a finalizer to delete it under", func(p *pairs, w *pair) bool {
		return w.cloud.runs() && !w.m.has(there|ctlFin) && !p.holdsInstance(*w) && !p.can(leaders) &&
			(!w.m.has(there|emptied) || w.m.has(leaving)) // the Machine API object gets its finalizer back
	}},
	{"an instance was left behind: neither object is there any more", func(_ *pairs, w *pair) bool {
		return w.cloud.runs() && !w.m.has(there) && !w.c.has(there)
	}},
	{"the mirror overwrote the authoritative Machine API object", func(_ *pairs, w *pair) bool {
		return w.waits() && w.source() == authority.MachineAPI && w.m.has(there) && !w.m.has(fresh)
	}},
	{"the mirror overwrote the authoritative Cluster API object", func(_ *pairs, w *pair) bool {
		return w.waits() && w.source() == authority.ClusterAPI && w.c.has(there) && !w.c.has(fresh)
	}},
}

// waits reports whether the mirror has to show the last change. It need not show the change of an object whose deletion people may have asked for (maybe).
func (w *pair) waits() bool { return w.will&maybe == 0 }

func (p *pairs) bothMayAct(w *pair) bool {
	machineMayAct := w.work != noWork || w.m.has(there) && p.gate(w.m).act
	clusterMayAct := w.core.seen.mayAct() || w.infra.seen.mayAct() || w.instance.seen.mayAct() && !w.instance.seen.has(leftover)
	// Before a controller holds its object with a finalizer, and when that object is deleted, the controller cannot have an instance created. Nor can the core
	// controller, if the provider's object is paused.
	if p.can(twice) {
		creates := func(seen object) bool { return seen.mayAct() && seen.has(ctlFin) && !seen.has(leaving) }
		machineMayAct = machineMayAct && w.m.has(ctlFin)
		clusterMayAct = creates(w.infra.seen) || creates(w.core.seen) && w.i&(there|pauseRequested) == there
	}
	return machineMayAct && clusterMayAct
}

// unrest returns what is wrong with w as a state in which nothing more is promised to happen, or "".
func (p *pairs) unrest(w pair) string {
	for _, o := range []struct {
		object
		name string
	}{{w.m, "the Machine API object"}, {w.c, "the Cluster API object"}, {w.i, "the provider's object"}, {w.k, "what is kept for the instance"}} {
		if o.has(leaving) && !o.has(theirs) && !w.i.has(theirs) {
			return "the deletion of " + o.name + " never ends"
		}
	}
	if w.c.has(theirs) || w.i.has(theirs) {
		return "" // the person who created it paused has to release it
	}
	step := p.step(w.m, w.c, w.i, w.k, p.caughtUp(w.m, w.c))
	switch src := w.source(); {
	case w.k.has(there) && !w.i.has(there):
		return "what was kept for the instance is left behind"
	case !w.m.has(there) && !w.c.has(there):
		return ""
	case p.can(aways) && w.will != 0 && w.m.has(recorded) && !w.c.has(there):
		if w.m.has(failed) {
			return "" // a condition says that the object is gone, and a person knows what to do with its mirror
		}
		return "nothing says that the authoritative object is gone"
	case w.will&deletionExpected != 0:
		return "what was deleted is still there"
	case w.m.has(there | emptied):
		return p.without(w, src)
	case w.m.has(there | ungated):
		return "" // a move away from such a controller waits
	case p.can(twice) && p.strange(w.m, w.c, w.i):
		if w.m.has(failed) {
			return "" // a condition says that neither API begins, and what to do
		}
		return "nothing says that neither API begins"
	case !w.m.has(there):
		if w.halted || p.can(twice) && w.will&maybe != 0 && !w.i.has(there) {
			return "" // deleted while it became a pair: the object that was a mirror by then was deleted too
		}
		return p.alone(w)
	case w.m.status() == authority.Migrating && step.Reason == authority.ReasonInstanceUnknown:
		return "" // likewise: all controllers have paused, so none finds out
	case step.Action == authority.Wait && (w.halted && byPerson[step.Reason] || step.Reason == authority.ReasonNotSynchronized):
		return "" // a condition says what the wait is for, and only a person can end that
	case step.Reason == authority.ReasonRequestsOpen && (src == authority.MachineAPI && p.gate(w.m).act || src == authority.ClusterAPI && p.acts(w.core.seen)):
		return "" // the check, which acts, takes its request back when the Machine is healthy
	case step.Action != authority.Settle:
		return fmt.Sprintf("the handoff says %s (%s)", step.Action, step.Reason)
	case !w.c.has(there) || !p.set && !w.i.has(there):
		return "there is no mirror"
	case !w.c.has(fresh) || !w.m.has(fresh):
		return "the mirror is not what the authority is"
	case (w.m | w.c).has(lacking):
		return "what a neighbour wrote to the mirror is not on both objects"
	case src == authority.MachineAPI && w.m.has(pid) && !w.cloud.runs() && w.will&maybe != 0:
		return "" // its controller reports Failed: the instance is gone
	case src == authority.ClusterAPI && w.endedWithoutGate():
		return ""
	case !p.set && (w.m.has(pid) != w.i.has(pid) || !w.m.has(pid) || !w.cloud.runs()):
		return "nobody makes the instance"
	case !p.set && (src == authority.MachineAPI && !w.m.has(ctlFin) || src == authority.ClusterAPI && !(w.c.has(ctlFin) && w.i.has(ctlFin))):
		return "whichever API is authoritative does not hold the finalizer"
	case src == authority.MachineAPI && !p.gate(w.m).act:
		return "Machine API is authoritative, but does not act"
	case src == authority.ClusterAPI && !w.halted && (!w.core.seen.has(acting) || !p.set && !p.acts(w.infra.seen)):
		return "Cluster API is authoritative, but does not act"
	}
	return p.keptUnrest(w, w.source())
}

// acts reports whether a provider's controller that sees this version acts, and has acknowledged that, if it acknowledges at all.
func (p *pairs) acts(seen object) bool {
	return seen.has(acting) || p.neverAcknowledges && seen.mayAct()
}

// byPerson are the reasons of a wait that only the person who paused the Cluster can end.
var byPerson = map[string]bool{authority.ReasonPausedElsewhere: true, authority.ReasonNotResumed: true, authority.ReasonNotPaused: true}

// without returns what is wrong at rest if the Cluster API namespace is deleted, or "". Objects for which Machine API is authoritative go on without a twin.
// Those for which Cluster API was authoritative are deleted with the namespace.
func (p *pairs) without(w pair, src authority.API) string {
	switch {
	case src != authority.MachineAPI:
		return ""
	case w.c.has(there) || w.i.has(there) || w.k.has(there):
		return "what was to go with its namespace is still there"
	case w.m.status() != authority.MachineAPI || !p.gate(w.m).act:
		return "Machine API is authoritative, but does not act"
	case !p.set && !w.cloud.runs() && w.will&maybe == 0:
		return "nobody makes the instance"
	}
	return ""
}

// endedWithoutGate reports whether the Machine API's controller has terminated the instance with its feature gate off. The Machine was deleted on its way back
// to Machine API, and the controller removed its finalizer before the handoff looked. The provider's machine then reports that its instance is gone.
func (w *pair) endedWithoutGate() bool {
	return w.will&endedOnItsWayBack != 0 && w.i.has(there|pid) && !w.cloud.runs()
}

// alone returns what is wrong at rest with a Cluster API object that has no Machine API object any more, or "". Such an object has to act by itself.
func (p *pairs) alone(w pair) string {
	switch {
	case w.c.has(pauseRequested) || !p.set && (w.i.has(there|pauseRequested) || w.k.has(there|pauseRequested)):
		return "Cluster API is left paused, and there is no Machine API object to move"
	case w.c.has(syncFin):
		return "a stale sync finalizer is left"
	case !p.set && (!w.i.has(there|pid) || !w.cloud.runs()) && !w.endedWithoutGate():
		return "nobody makes the instance"
	}
	return ""
}

func (p *pairs) describe(w pair) string {
	status := w.m.status()
	if status == "" {
		status = "nobody yet"
	}
	runs := "no instance"
	switch w.cloud & (byM | byC) {
	case byM:
		runs = "an instance that Machine API made"
	case byC:
		runs = "an instance that Cluster API made"
	case byM | byC:
		runs = "two instances"
	}
	more := ""
	if p.keeps != keepsNothing {
		more = fmt.Sprintf("; kept for the instance: %v (its controller sees: %v)", w.k, w.instance.seen)
	}
	if (w.m | w.c).has(lacking) {
		more += "; what a neighbour wrote is not on both"
	}
	if w.m.has(recorded) {
		more += "; it is stored that the authoritative object existed"
	}
	return fmt.Sprintf("authoritative: %s (asked for: %s, came from: %s); Machine API object: %v; Cluster API object: %v (its controller sees: %v); "+
		"provider's object: %v (its controller sees: %v)%s; %s",
		status, w.m.requested(), w.m.origin(), w.m&^(lacking|recorded), w.c&^lacking, w.core.seen, w.i, w.infra.seen, more, runs)
}
