// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/poundlock/poundlock/policies/authority"

// state returns what authority.Objects.State would read from the objects of a pair.
func (p *pairs) state(m, c, i, k object, caughtUp bool) authority.State {
	provider := p.provider(m, c, i, k)
	if foreign(m, c) {
		c, i = 0, 0
	}
	if !p.set && p.foreignInfra(m, i) {
		i = 0
	}
	s := authority.State{
		Enabled: true, Current: m.status(), Origin: m.origin(), InfraActs: !p.set, CaughtUp: caughtUp,
		MachineAPI: party(m), ClusterAPI: party(c), Synchronized: "Unknown", Instance: p.instance(m, i),
	}
	if m.has(there) {
		s.Requested = m.requested()
	}
	if p.set {
		s.MachineAPI.Finalizer = authority.NoFinalizer
	} else {
		s.Infra, s.InfraNamesInstance = party(i), i.has(pid)
		if p.neverAcknowledges && i.has(there) {
			s.Infra.Acknowledged = p.believed(i)
		}
	}
	if p.keeps != keepsNothing {
		s.Infra, s.InfraActs = provider.Party, provider.acts
		s.CaughtUp = s.CaughtUp && provider.caughtUp
	}
	s.Detached, s.Ended, s.Loose = m.has(detached), !p.set && m.has(phaseDeleting), !m.has(syncFin)
	s.Unrecorded = p.can(aways) && !m.has(recorded)
	s.RequestsOpen = p.check && !p.forgetsRequests &&
		(m.source() == authority.MachineAPI && m.has(requesting) || m.source() == authority.ClusterAPI && c.has(requesting))
	if p.check {
		s.ClusterAPI.Finalizer = authority.NoFinalizer
	}
	switch {
	case m.has(synced):
		s.Synchronized = "True"
	case m.has(failed):
		s.Synchronized = "False"
	}
	return s
}

// step returns the handoff's next step. Before authority leaves an API, the handoff also reads the namespace that the other API's objects live in.
func (p *pairs) step(m, c, i, k object, caughtUp bool) authority.Step {
	s := p.state(m, c, i, k, caughtUp)
	step := p.next(s)
	if (step.HandsOver() || s.Deserted(step)) && !p.looksAway {
		s.TargetLeaves = m.has(emptied) && m.requested() == authority.ClusterAPI
		step = p.next(s)
	}
	return step
}

// instance returns what authority.Objects decides about the instance, from the IDs and from what proves that nobody has asked for one.
func (p *pairs) instance(m, i object) authority.Instance {
	switch {
	case p.set || m.has(pid) && i.has(pid):
		return authority.InstanceKnown
	case m.has(pid) || i.has(pid):
		return authority.InstanceUnknown
	case m.source() == authority.MachineAPI && m.has(untouched) && !m.has(ctlFin), m.has(decided):
		return authority.InstanceNotRequested
	}
	return authority.InstanceUnknown
}

// foreign is authority.ForeignTo for a Cluster API object beside a Machine API object: whether it is no mirror and must not become one.
func foreign(m, c object) bool {
	return m.source() == authority.MachineAPI && c.has(there) && !c.has(mark) &&
		(c.has(leaving) || !c.has(pauseRequested) || c.has(acting) || c.has(ctlFin) && !c.has(paused))
}

// foreignInfra reports the same of the provider's object: whether it is no mirror of the Machine API object and must not become one.
func (p *pairs) foreignInfra(m, i object) bool {
	return m.source() == authority.MachineAPI && i.has(there) && !i.has(mark) &&
		(i.has(leaving) || i.has(pid) && !m.has(pid) || !i.has(pid) && i.has(owned) && !p.pauseSuffices || !i.has(pid) && (!i.has(pauseRequested) || i.has(acting)))
}

// strange reports whether a foreign object is in the mirror's place, or a mirror has an instance that the Machine API Machine does not name.
func (p *pairs) strange(m, c, i object) bool {
	return foreign(m, c) || !p.set && (p.foreignInfra(m, i) || m.source() == authority.MachineAPI && i.has(mark|pid) && m&(there|leaving|pid) == there)
}

// believed returns what authority.Objects takes for the acknowledgement of a provider that never acknowledges (ByPatience). Such a provider acts until the
// pause is written, and has paused when Poundlock's patience is over.
func (p *pairs) believed(i object) authority.AcknowledgedState {
	switch {
	case !i.has(pauseRequested):
		return authority.AcknowledgedUnpaused
	case i.has(pauseSeen) || p.impatient:
		return authority.AcknowledgedPaused
	}
	return authority.NotAcknowledged
}

func party(o object) authority.Party {
	if !o.has(there) {
		return authority.Party{}
	}
	hold := authority.FinalizerAbsent
	if o.has(ctlFin) {
		hold = authority.FinalizerPresent
	}
	return authority.Party{Exists: true, Deleting: o.has(leaving), PauseRequested: o.has(pauseRequested), Acknowledged: o.acknowledged(), Finalizer: hold}
}

func (o object) acknowledged() authority.AcknowledgedState {
	switch {
	case o.has(paused):
		return authority.AcknowledgedPaused
	case o.has(acting):
		return authority.AcknowledgedUnpaused
	}
	return authority.NotAcknowledged
}

// decided returns the handoff's plan for what it has read: the requests of one step, in reconcilers/handoff's order.
func (p *pairs) decided(m, c, i, k object) plan {
	if !c.has(there) {
		i, k = 0, 0 // the provider's object is the one that the Cluster API object refers to
	}
	key := [4]object{m, c, i, k}
	if id, ok := p.handoffs[key]; ok {
		return id
	}
	id := p.plans.of(p.opsOf(p.step(m, c, i, k, p.caughtUp(m, c)), m, c, i, k))
	p.handoffs[key] = id
	return id
}

// caughtUp reports whether the mirror had caught up when the handoff read the source. For a source in Cluster API, the bits come with the copy of c that was
// read.
func (p *pairs) caughtUp(m, c object) bool {
	seen := m
	if m.source() == authority.ClusterAPI {
		seen |= c & (caught | compared)
	}
	return seen.has(caught) && (seen.has(compared) || !p.can(labels) || p.forgetsLabels)
}

// each returns one op for every object that a step is about. The provider's object comes first.
func each(who authority.Who, i, c, m op) []op {
	var out []op
	for _, o := range []struct {
		who authority.Who
		op
	}{{authority.WhoInfra, i}, {authority.WhoClusterAPI, c}, {authority.WhoMachineAPI, m}} {
		if who.Has(o.who) && o.op != noOp {
			out = append(out, o.op)
		}
	}
	return out
}

// one returns a list of o; nil for noOp.
func one(o op) []op {
	if o == noOp {
		return nil
	}
	return []op{o}
}

func (p *pairs) opsOf(step authority.Step, m, c, i, k object) []op {
	to := func(ifM, ifC op) []op {
		if step.To == authority.MachineAPI {
			return []op{ifM}
		}
		return []op{ifC}
	}
	switch step.Action {
	case authority.Adopt:
		return []op{adopt}
	case authority.Acknowledge:
		return to(leaveC, leaveM)
	case authority.Pause:
		return p.both(step, each(step.On, when(i.has(there) && !i.has(pauseRequested), pauseI), pauseC, noOp), when(k.has(there) && !k.has(pauseRequested), pauseK))
	case authority.Release:
		return p.both(step, each(step.On, when(i.has(pauseRequested), releaseI), releaseC, noOp), when(k.has(pauseRequested), releaseK))
	case authority.AddFinalizer:
		return each(step.On, holdI, holdC, holdM)
	case authority.Switch:
		end := to(switchM, switchC)
		if step.Cancelled {
			end = to(backM, backC)
		}
		announces := step.To == authority.ClusterAPI && !step.Cancelled && c.presence() == authority.Present && !c.has(announced) && !p.announcesNothing
		return append(append(one(when(announces, announce)), each(step.Drop, dropI, dropC, dropM)...), end...)
	case authority.Wait, authority.Settle:
		if m.status().Other() != authority.Unset && m.origin() != m.status() {
			return []op{storeOrigin}
		}
	}
	return nil
}

// both adds to the requests of a step the one for the object that is kept for the instance. It comes after the provider's machine and before Cluster API's.
func (p *pairs) both(step authority.Step, ops []op, kept op) []op {
	if kept == noOp || p.pausesAlone || !step.On.Has(authority.WhoInfra) {
		return ops
	}
	at := 0
	if len(ops) > 0 && requests[ops[0]].on == ofI {
		at = 1
	}
	return append(append(append([]op{}, ops[:at]...), kept), ops[at:]...)
}

// pairHandoff is the handoff. It reads the Cluster API side, then what is kept for the instance, then the Machine API object. Then it decides, and writes.
type pairHandoff struct{}

// Moves implements actor.
func (pairHandoff) Moves(t *turn) {
	w := &t.was
	h := &w.handoff
	if w.away {
		return
	}
	switch h.phase {
	case idle:
		t.beginHandoff()
	case readingKept:
		t.may(handoff, "the handoff reads what is kept for the instance", func(n *pair) {
			n.handoff.phase = reading
			n.handoff.k = n.k
			n.handoff.dirty &^= ofK
		})
	case reading:
		t.may(handoff, "the handoff reads the Machine API object", func(n *pair) {
			n.handoff.left = t.decided(n.m, h.c, h.i, h.k)
			n.handoff.phase, n.handoff.c, n.handoff.i, n.handoff.k = writing, 0, 0, 0
			if n.handoff.left == 0 {
				n.handoff = pass{}
			}
			n.handoff.dirty &^= ofM
		})
	case writing:
		t.goOn(handoff, "the handoff", h.left, func(n *pair) *pass { return &n.handoff })
	}
	t.stop("handoff", h.phase, func(n *pair) *pass { return &n.handoff })
}

func (t *turn) beginHandoff() {
	w := &t.was
	now := t.decided(w.m, w.c, w.i, w.k)
	switch {
	case now == 0 && !t.can(anyDelay):
	case !t.can(torn):
		if now != 0 {
			t.may(handoff, "the handoff reads everything", func(n *pair) { n.handoff = pass{phase: writing, left: now} })
		}
	case now != 0 || w.m.has(there):
		t.emit(move{by: handoff, what: "the handoff reads the Cluster API side", spontaneous: now == 0}, func(n *pair) {
			n.handoff = pass{phase: reading, c: n.c&^(caught|compared) | n.m&(caught|compared), i: n.i, k: n.k}
			if t.keeps != keepsNothing {
				n.handoff.phase, n.handoff.k = readingKept, 0
			}
		})
	}
}
