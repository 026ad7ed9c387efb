// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/poundlock/poundlock/policies/authority"
)

// which names objects of a pair, as a set.
type which uint8

const (
	ofM which = 1 << iota
	ofC
	ofI
	ofK
)

// pair is one machine, or one set: what is stored, what each controller has seen of it, and what each is in the middle of.
type pair struct {
	// m is the Machine API object, c the Cluster API one, i the provider's, k what the provider keeps for the instance (authority.InfraInstanceKind).
	m, c, i, k object
	// core, infra and instance are what Cluster API's controllers, and the provider's two, have in their caches.
	core, infra, instance view
	// handoff and mirror are Poundlock's passes, former that of a leader that has lost its lease and not noticed.
	handoff, mirror, former pass
	// work is what the Machine API's controller is in the middle of, behind that its object was written meanwhile.
	work   work
	behind bool
	cloud  cloud
	will   will
	// halted is Cluster.spec.paused.
	halted bool
	// away: Poundlock is not there, and nothing of its admission.
	away bool
}

// view is a cache: what it shows, and one version that came after that and is not the last; 0: none.
type view struct{ seen, next object }

// pass is a reconciler's pass: what it has read of the first objects before it reads the rest, then what it has left to write.
type pass struct {
	phase      phase
	m, c, i, k object
	left       plan
	// dirty are the objects that somebody else has written since they were read, gone those that have ceased to exist, grown those whose generation
	// has moved, edited those whose spec a person has changed.
	dirty, gone, grown, edited which
}

type phase uint8

const (
	idle phase = iota
	// readingKept: it has yet to read what the provider keeps for the instance, and then the rest.
	readingKept
	reading
	writing
)

// work is where in its pass the Machine API's machine controller is.
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

// cloud is what runs: an instance that the Machine API made, or the provider's controller of Cluster API.
type cloud uint8

const (
	byM cloud = 1 << iota
	byC
	// answer: the provider's controller has made the instance and not yet stored that.
	answer
	// endedUnasked: an instance was ended that nobody asked to end.
	endedUnasked
)

func (c cloud) runs() bool { return c&(byM|byC) != 0 }

// will is what people have asked for: that the instance end, or something that may be understood so.
type will uint8

const (
	deletionExpected will = 1 << iota
	maybe
	// endedOnItsWayBack: that is no wish. The Machine API's controller, with its feature gate off, has ended the instance in mid-move.
	endedOnItsWayBack
	// deletedAway: the authoritative object of Cluster API was deleted while Poundlock was away.
	deletedAway
)

// pairs is the model of a pair.
type pairs struct {
	rules
	// set reports that the pair is a MachineSet: no instance, and nothing of the provider's that acts.
	set bool
	// check reports that it is a MachineHealthCheck: a set on which no controller puts a finalizer.
	check bool
	// neverAcknowledges reports that the provider's controller never acknowledges a pause: Poundlock waits for half a minute.
	neverAcknowledges bool
	// keeps is whether the provider keeps an object for each instance.
	keeps keeps
	// family is the pair of MachineSets that owns the pair; zero: none.
	family authority.Parent
	may    deeds
	// writes are those of its neighbours.
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

// deeds are what may happen in a walk beside what fairness promises, and how finely.
type deeds uint32

const (
	flips deeds = 1 << iota
	edits
	deletes
	recreates
	crashes
	// halts: people pause the Cluster as a whole.
	halts
	// torn: a pass reads its objects one after the other. anyDelay: and begins also when there was nothing to do.
	torn
	anyDelay
	// skips: a cache may stop at versions between.
	skips
	// leaders: a former leader goes on.
	leaders
	// decides: a person sets the annotation that no instance exists, where a condition asks for it.
	decides
	// refusals: a Machine that does not convert, until somebody edits it.
	refusals
	// vanishes: somebody deletes the Cluster API namespace.
	vanishes
	// visits: a neighbour writes what a row of authority.Grants lets through.
	visits
	// twice: people create the Machine in both APIs at once, so that the review of each creation sees no twin, and do then what a condition advises.
	twice
	// labels: the source's controllers, as long as they act, write labels to their object, which bump no generation.
	labels
	// requests: a check that acts has somebody else remediate a Machine, and takes that back when the Machine is healthy.
	remediates
	// ungates: the feature gate of the Machine API's controllers is off for a while.
	ungates
	// strips: somebody takes the finalizer of Cluster API's controller off a mirrored Machine that is being deleted and has an instance.
	strips
	// aways: Poundlock is removed for a while, and somebody deletes the authoritative object of Cluster API.
	aways
)

func (p *pairs) can(d deeds) bool { return p.may&d == d }

func (p *pairs) starts() map[string]pair { return p.begin }

// source is the authoritative API of what is stored.
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

// side are the objects whose generation the mirror of an API is made from.
func side(a authority.API) which {
	switch a {
	case authority.MachineAPI:
		return ofM
	case authority.ClusterAPI:
		return ofC | ofI
	}
	return 0
}

// wrote notifies everybody that an object has been written: those who decided on what it was, and the collector.
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

// bury removes what is being deleted and held by nobody.
func (w *pair) bury(o which, by mover) {
	if at := w.at(o); !at.has(leaving) || at.held() {
		return
	}
	*w.at(o) = 0
	for _, p := range []struct {
		*pass
		mover
	}{{&w.handoff, handoff}, {&w.mirror, mirror}, {&w.former, former}} {
		if p.phase != idle && p.mover != by { // the answer has what a pass's own request leaves
			p.gone |= o
		}
	}
	switch { // what is left is all that anybody has said
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

// held reports whether anything keeps an object that is being deleted.
func (o object) held() bool { return o&(syncFin|ctlFin|fg|orph) != 0 }

// changed notifies everybody if an object is no longer what it was: a request that changes nothing is no write.
func (w *pair) changed(o which, was object, by mover, grows bool) {
	if *w.at(o) != was {
		w.wrote(o, by, grows)
	}
}

// remove asks for the deletion of an object that exists.
func (w *pair) remove(o which, by mover) {
	if at := w.at(o); at.has(there) && !at.has(leaving) {
		at.set(leaving)
		w.wrote(o, by, true)
	}
}

// moves is everybody's turn, one after the other.
func (p *pairs) moves(w pair, happens func(move, pair)) {
	t := turn{pairs: p, was: w, happens: happens}
	for _, a := range pairActors {
		a.Moves(&t)
	}
}

// turn is one state, and what can be made of it.
type turn struct {
	*pairs
	was     pair
	happens func(move, pair)
}

// may is a change that fairness promises, might one that it does not.
func (t *turn) may(by mover, what string, change func(*pair)) {
	t.emit(move{by: by, what: what}, change)
}

func (t *turn) might(what string, change func(*pair)) {
	t.emit(move{by: user, what: what, spontaneous: true}, change)
}

// emit adds the state that a change leads to.
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

// trim forgets what makes no difference any more, so that states which only differ by it are one. A pass whose next request will be refused whatever
// happens has nothing left to do.
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

// lag lets the caches keep a version that came between what they show and what is stored, where walks go so far.
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

// showC and showI are what a cache would show now.
func (w *pair) showC() object {
	return w.show(w.c & (there | leaving | syncFin | ctlFin | pauseRequested | acting | paused | hooked))
}
func (w *pair) showI() object {
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

// mayAct reports whether a controller of Cluster API that sees this may do more than to answer. It is not taken for granted that it answers
// before it acts: a version without the pause annotation is enough for it.
func (o object) mayAct() bool { return o.has(there) && o&(pauseRequested|stopped) == 0 }

func (p *pairs) wrong(w pair) string { return firstBroken(pairInvariants, p, &w) }

// pairInvariants are DESIGN §4's list of invariants, and that of births.
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
			(!w.m.has(there|emptied) || w.m.has(leaving)) // it gets its finalizer back
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

// waits reports whether the mirror waits for the last change: not for one of what is being deleted.
func (w *pair) waits() bool { return w.will&maybe == 0 }

func (p *pairs) bothMayAct(w *pair) bool {
	machineMayAct := w.work != noWork || w.m.has(there) && p.gate(w.m).act
	clusterMayAct := w.core.seen.mayAct() || w.infra.seen.mayAct() || w.instance.seen.mayAct() && !w.instance.seen.has(leftover)
	// Until one holds its object, and when it is deleted, neither can have an instance created. No owner of a paused object can have one created either.
	if p.can(twice) {
		creates := func(seen object) bool { return seen.mayAct() && seen.has(ctlFin) && !seen.has(leaving) }
		machineMayAct = machineMayAct && w.m.has(ctlFin)
		clusterMayAct = creates(w.infra.seen) || creates(w.core.seen) && w.i&(there|pauseRequested) == there
	}
	return machineMayAct && clusterMayAct
}

// unrest is what must be so once everybody has had their turn.
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
		return "" // who made it paused is who has to release it
	}
	step := p.step(w.m, w.c, w.i, w.k, p.caughtUp(w.m, w.c))
	switch src := w.source(); {
	case w.k.has(there) && !w.i.has(there):
		return "what was kept for the instance is left behind"
	case !w.m.has(there) && !w.c.has(there):
		return ""
	case p.can(aways) && w.will != 0 && w.m.has(recorded) && !w.c.has(there):
		if w.m.has(failed) {
			return "" // a condition says that the object is gone, and a person knows what is to become of its mirror
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
			return "" // a condition says that neither begins, and what to do
		}
		return "nothing says that neither API begins"
	case !w.m.has(there):
		if w.halted || p.can(twice) && w.will&maybe != 0 && !w.i.has(there) {
			return "" // deleted while it became a pair: what was a mirror by then went along
		}
		return p.alone(w)
	case w.m.status() == authority.Migrating && step.Reason == authority.ReasonInstanceUnknown:
		return "" // the same: everybody has paused, so nobody finds out
	case step.Action == authority.Wait && (w.halted && byPerson[step.Reason] || step.Reason == authority.ReasonNotSynchronized):
		return "" // a condition says what for, and it is a person who can end that
	case step.Reason == authority.ReasonRequestsOpen && (src == authority.MachineAPI && p.gate(w.m).act || src == authority.ClusterAPI && p.acts(w.core.seen)):
		return "" // the check, which acts, takes it back when the Machine is healthy
	case step.Action != authority.Settle:
		return fmt.Sprintf("the handoff says %s (%s)", step.Action, step.Reason)
	case !w.c.has(there) || !p.set && !w.i.has(there):
		return "there is no mirror"
	case !w.c.has(fresh) || !w.m.has(fresh):
		return "the mirror is not what the authority is"
	case (w.m | w.c).has(lacking):
		return "what a neighbour wrote to the mirror is not on both objects"
	case src == authority.MachineAPI && w.m.has(pid) && !w.cloud.runs() && w.will&maybe != 0:
		return "" // its controller says Failed: the instance has gone
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

// acts reports whether a provider's controller that sees this acts, and has said so if it ever does.
func (p *pairs) acts(seen object) bool {
	return seen.has(acting) || p.neverAcknowledges && seen.mayAct()
}

// byPerson are the reasons of a wait that only the person who paused the Cluster can end.
var byPerson = map[string]bool{authority.ReasonPausedElsewhere: true, authority.ReasonNotResumed: true, authority.ReasonNotPaused: true}

// without: what Machine API is authoritative for goes on without its twin. What Cluster API was authoritative for ends with the namespace.
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

// endedWithoutGate reports that a controller of the Machine API's, with its feature gate off, has ended the instance of a Machine that was deleted on its way
// back, and removed its finalizer before the handoff looked: the provider's machine says that its instance has gone.
func (w *pair) endedWithoutGate() bool {
	return w.will&endedOnItsWayBack != 0 && w.i.has(there|pid) && !w.cloud.runs()
}

// alone: a Cluster API object that has lost its twin acts on its own.
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
