// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// mirrored returns the mirror's plan for the objects that it has read: the writes that mirroring.Next decides on, one after the other. Each decision is made
// from what the write before it returned.
func (p *pairs) mirrored(m, c, i, k object) plan {
	key := [4]object{m, c, i, k}
	if id, ok := p.mirrors[key]; ok {
		return id
	}
	var ops []op
	w := pair{m: m, c: c, i: i, k: k}
	for range 40 {
		next := p.nextWrite(&w)
		if next == noOp {
			if p.can(labels) && w.m.has(there) && !w.m.has(compared) {
				ops = append(ops, compare)
			}
			break
		}
		ops = append(ops, next)
		if !p.accepts(&w, &pass{}, &requests[next]) || requests[next].lock == byUID {
			break // after a deletion, the mirror reads everything again
		}
		w.bury(requests[next].on, mirror)
	}
	id := p.plans.of(ops)
	p.mirrors[key] = id
	return id
}

// deletion returns the state of a deletion as mirroring gathers it from a pair.
func (p *pairs) deletion(w *pair) authority.DeletionState {
	d := authority.DeletionState{
		Authority: w.m.authoritative(), InTransit: w.m.status() == authority.Migrating,
		MachineAPI: w.m.presence(), ClusterAPI: w.c.presence(), Detached: w.m.has(detached) && w.m.authoritative() == authority.ClusterAPI,
		Marked: w.m.has(syncFin) || w.c&(syncFin|mark) != 0,
	}
	d.Unreleased = d.Authority == authority.ClusterAPI && (w.c.has(pauseRequested) || !p.set && w.i.has(pauseRequested) || p.asks(w, aboutUnreleased) != noOp)
	authoritative, away := w.on(d.Authority), w.on(d.Authority.Other())
	named := !p.set && w.i.has(there|pid) && !p.leavesInstance
	d.Held = authoritative.has(there|ctlFin) || d.Authority == authority.ClusterAPI && w.c.has(there) && named
	if p.keeps != keepsNothing {
		d.Held = p.asks(w, aboutHeld) != noOp
	}
	d.Owned = p.family != (authority.Parent{}) && away.has(there)
	if d.Owned && away.has(leaving) {
		d.Parent = p.family
	}
	if d.Authority == authority.MachineAPI && !w.c.has(mark) {
		d.ClusterAPI = authority.Absent
	}
	if p.lacksSurroundings(w) {
		d.Surroundings = authority.Go
	}
	return d
}

// lacksSurroundings reports whether the Cluster API namespace is being deleted and an object of the pair is missing or being deleted.
func (p *pairs) lacksSurroundings(w *pair) bool {
	complete := w.m.presence() == authority.Present && w.c.presence() == authority.Present && (p.set || w.i.presence() == authority.Present)
	return w.m.has(emptied) && !complete
}

func (w *pair) on(a authority.API) object {
	switch a {
	case authority.MachineAPI:
		return w.m
	case authority.ClusterAPI:
		return w.c
	}
	return 0
}

// nextWrite returns the mirror's next write for w, as mirroring/next.go decides it.
func (p *pairs) nextWrite(w *pair) op {
	if o := p.asks(w, aboutHook); o != noOp {
		return o
	}
	if o, does := p.reflect(w); does {
		return o
	}
	step := p.rules.deletion(p.deletion(w))
	switch src := p.mirrorsFrom(w.m); {
	case step == authority.AwaitAuthority:
		return noOp
	case step != authority.KeepMirroring:
		return p.deleting(w, step)
	case !w.m.has(there), src == authority.Unset:
		return noOp
	case p.can(aways) && src == authority.ClusterAPI && w.c.has(there) && !w.c.has(pauseRequested) && !w.m.has(recorded) && !p.recordsLast:
		return recordM
	case p.lacksSurroundings(w):
		return first(p.freesI(w), when(!w.m.has(failed), fail)) // the mirror recreates nothing until the namespace is there again
	case p.carriesOver(w, src) != noOp:
		return p.carriesOver(w, src)
	case p.can(aways) && src == authority.ClusterAPI && !w.c.has(there) && w.m.has(recorded):
		return when(!w.m.has(failed), fail) // the authoritative object existed, and is gone
	case src == authority.MachineAPI || !w.c.has(there):
		return p.toClusterAPI(w)
	}
	return p.toMachineAPI(w)
}

// carriesOver returns the write that carries over to the authoritative object what a neighbour wrote to its mirror; noOp: there is none.
func (p *pairs) carriesOver(w *pair, src authority.API) op {
	if w.m.presence() != authority.Present || w.c.presence() != authority.Present || w.m.has(lacking) == w.c.has(lacking) || p.carriesNothing {
		return noOp
	}
	pick := func(set, other op) op {
		if p.set {
			return set
		}
		return other
	}
	switch {
	case src == authority.MachineAPI && w.m.has(lacking) && w.c.has(mark):
		return pick(scaleM, carryM)
	case src == authority.ClusterAPI && w.c.has(lacking):
		return pick(scaleC, carryC)
	}
	return noOp
}

// mirrorsFrom returns the API that the mirror copies from, or Unset if the planted bug stopsInTransit is at work and authority moves.
func (p *pairs) mirrorsFrom(m object) authority.API {
	if p.stopsInTransit && m.status() == authority.Migrating {
		return authority.Unset
	}
	return m.source()
}

// reflect returns the write that creates the Machine API twin of a Machine which a mirrored MachineSet of Cluster API made. false: this is no such Machine.
func (p *pairs) reflect(w *pair) (op, bool) {
	f := p.family
	if w.m.has(there) || f.Authority != authority.ClusterAPI || f.MachineAPI != authority.Present || w.c.presence() != authority.Present ||
		w.c.has(pauseRequested) || !w.i.has(there) {
		return noOp, false
	}
	if !w.c.has(syncFin | mark) {
		return enrolC, true
	}
	return makeM, true
}

func (p *pairs) toClusterAPI(w *pair) op {
	if p.strange(w.m, w.c, w.i) {
		return first(p.freesI(w), when(!w.m.has(failed), fail))
	}
	i := first(
		when(!w.m.has(syncFin), enrolM),
		p.freesI(w),
		when(!p.set && w.i.has(there) && w.i&(owned|pauseRequested) == 0 && !(p.ownsFirst || p.ownsLeaving && w.i.has(leaving)), pauseI),
		when(!p.set && !w.c.has(there) && w.m.source() == authority.MachineAPI, p.hooking(w, makeC, makeCHooked)), // before the provider's object, which names it
		when(!p.set && !w.i.has(there), knowing(w.m, makeI, makeIKnowing)),
		when(!p.set && (!w.i.has(mark) || w.i.has(pid) != w.m.has(pid) || w.c.has(there) && !w.i.has(owned)), knowing(w.m, fixI, fixIKnowing)),
		when(!w.c.has(there), makeC),
	)
	if i == noOp && (!w.c.has(mark|syncFin) || !(w.m & w.c).has(fresh) || (w.m ^ w.c).has(lacking) ||
		p.hooking(w, fixC, fixCHooked) == fixCHooked != w.c.has(hooked)) {
		return p.hooking(w, fixC, fixCHooked)
	}
	return first(i, p.asks(w, aboutKept), when(!w.m.has(synced|caught) || w.m.has(failed), synchronize))
}

// hooking returns one of its two last parameters: with, if the mirror needs Poundlock's hook because the provider does not know the Machine's instance yet;
// otherwise without.
func (p *pairs) hooking(w *pair, without, with op) op {
	if p.asks(w, aboutWantedHook) != noOp {
		return with
	}
	return without
}

func (p *pairs) toMachineAPI(w *pair) op {
	if !p.set && !w.i.has(there) {
		return when(!w.m.has(failed) || p.can(aways) && !w.m.has(recorded), fail)
	}
	return first(
		when(!w.c.has(syncFin|mark), enrolC),
		when(!p.set && !w.i.has(mark), markI),
		when(!w.m.has(syncFin|fresh) || (w.m^w.c).has(lacking) || !p.set && w.m.has(pid) != w.i.has(pid), knowing(w.i, fixM, fixMKnowing)),
		when(!w.m.has(synced|caught) || w.m.has(failed), synchronize),
	)
}

func when(is bool, o op) op {
	if is {
		return o
	}
	return noOp
}

func first(ops ...op) op {
	for _, o := range ops {
		if o != noOp {
			return o
		}
	}
	return noOp
}

func knowing(o object, without, with op) op {
	if o.has(pid) {
		return with
	}
	return without
}

// deleting returns the next write of a step of a deletion, as mirroring/deletion decides it.
func (p *pairs) deleting(w *pair, step authority.DeletionStep) op {
	if p.keeps != keepsNothing && (step == authority.ReleaseMirror || step == authority.ReleaseAuthority) {
		return p.asksStep(w, step)
	}
	authoritative := w.m.authoritative()
	mine := func(ifM, ifC op) op {
		if authoritative == authority.MachineAPI {
			return ifM
		}
		return ifC
	}
	switch step {
	case authority.DeleteMirror:
		if on := w.on(authoritative.Other()); !on.has(syncFin) && !p.deletesLoose {
			return mine(enrolC, enrolM)
		}
		return mine(deleteC, deleteM)
	case authority.DeleteAuthority:
		return mine(deleteM, deleteC)
	case authority.ReleaseMirror:
		if authoritative == authority.ClusterAPI {
			return first(p.leftover(w), when(w.m&(syncFin|ctlFin) != 0, letGoM))
		}
		keeps := !p.set && w.i.has(there) && w.c.has(there) && w.i&owned != 0 && w.m.presence() == authority.Present
		return first(p.leftover(w), when(keeps, keepI), when(w.c&(syncFin|ctlFin) != 0, letGoC))
	case authority.ReleaseAuthority:
		return first(p.leftover(w), mine(when(w.m.has(syncFin), finishM), when(w.c.has(syncFin), finishC)))
	case authority.Forget:
		if w.m.has(there) {
			return first(when(w.c&(syncFin|mark) != 0, unmarkC), when(w.m.has(syncFin), unmarkM))
		}
		if p.set && w.c.has(pauseRequested) { // a paused mirror keeps its mark
			return when(w.c.has(syncFin), finishC)
		}
		ends := w.c.has(leaving) && w.i.has(there|pid) && !p.set && !p.leavesInstance && (w.c|w.i)&pauseRequested == 0
		return first(when(w.i.has(mark), unmarkI), when(w.c&(syncFin|mark) != 0 && !ends, unmarkC))
	}
	return noOp
}

// asksStep returns the next write of a step of a deletion, as the mirror's own functions decide it.
func (p *pairs) asksStep(w *pair, step authority.DeletionStep) op {
	return p.answerTo(asking{aboutStep, step, w.m, w.c, w.i, w.k})
}

// idle reports whether the provider's object is a mirror that holds no instance of Cluster API's.
func (p *pairs) idle(w *pair) bool {
	unheld := w.c.has(leaving|pauseRequested) && !w.c.has(ctlFin) && !p.strands && (!w.i.has(pid) || p.leavesInstance)
	return !p.set && w.i.has(there|mark) && (w.m.source() == authority.MachineAPI || unheld || !w.c.has(there) && w.i&(owned|dangling) == 0)
}

func (p *pairs) leftover(w *pair) op {
	if p.idle(w) && !w.i.has(leaving) && w.m.presence() == authority.Deleting {
		return deleteI
	}
	return p.freesI(w)
}

func (p *pairs) freesI(w *pair) op {
	if p.keeps != keepsNothing {
		return p.asks(w, aboutRelease)
	}
	return when(p.idle(w) && w.m.status() != authority.Migrating && w.i.has(leaving|pauseRequested|ctlFin), freeI)
}

// pairMirror is the mirror: it reads the objects of the pair, decides, and writes.
type pairMirror struct{}

// Moves implements actor.
func (pairMirror) Moves(t *turn) {
	w := &t.was
	if w.away {
		return
	}
	switch m := &w.mirror; m.phase {
	case idle:
		t.beginMirror()
	case reading:
		t.may(mirror, "the mirror reads the rest", func(n *pair) {
			p := &n.mirror
			m, c, i, k := n.m, p.c, p.i, p.k
			if t.authorityFirst {
				m, c, i, k = p.m, n.c, n.i, n.k
			}
			if p.edited&ofM != 0 {
				c.clear(fresh) // what was read is compared with what the other object has by now
			}
			if p.edited&ofC != 0 {
				m.clear(fresh)
			}
			p.left = t.mirrored(m, c, i, k)
			read := ofC | ofI | ofK
			if !t.authorityFirst {
				read = ofM
			}
			p.phase, p.m, p.c, p.i, p.k = writing, 0, 0, 0, 0
			p.dirty, p.gone, p.grown, p.edited = p.dirty&^read, p.gone&^read, p.grown&^read, p.edited&^read
			if p.left == 0 {
				*p = pass{}
			}
		})
	case writing:
		t.goOn(mirror, "the mirror", m.left, func(n *pair) *pass { return &n.mirror })
	}
	t.stop("mirror's pass", w.mirror.phase, func(n *pair) *pass { return &n.mirror })
}

func (t *turn) beginMirror() {
	w := &t.was
	now := t.mirrored(w.m, w.c, w.i, w.k)
	switch {
	case now == 0 && !t.can(anyDelay):
	case !t.can(torn):
		if now != 0 {
			t.may(mirror, "the mirror reads everything", func(n *pair) { n.mirror = pass{phase: writing, left: now} })
		}
	case t.authorityFirst:
		t.emit(move{by: mirror, what: "the mirror reads the Machine API object", spontaneous: now == 0}, func(n *pair) { n.mirror = pass{phase: reading, m: n.m} })
	default:
		t.emit(move{by: mirror, what: "the mirror reads the Cluster API side", spontaneous: now == 0},
			func(n *pair) { n.mirror = pass{phase: reading, c: n.c, i: n.i, k: n.k} })
	}
}
