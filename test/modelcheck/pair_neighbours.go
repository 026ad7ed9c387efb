// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// pairNeighbours are the neighbours of authority.Grants. Each writes what its rows of the table allow, in the phases that the rows name.
type pairNeighbours struct{}

// neighbourWrite is what the model distinguishes of a row's write: the object, what becomes of the write, and whether the object's generation grows.
type neighbourWrite struct {
	on    which
	class class
	grows bool
	while authority.Phase
	what  string
}

// class is what becomes of a neighbour's write.
type class uint8

const (
	// ignored: nobody decides from the write, and the mirror leaves it as it is. What Cluster API's set writes onto its Machines is ignored, too, because the
	// set's template has it.
	ignored class = iota
	// finishing: the controllers of the authoritative API finish what they have begun. The write has to reach the target.
	finishing
	// carriedOver: the mirror carries the write over to the authoritative object. One bit (lacking) stands for all such fields, and also for a field that was
	// taken back. The model takes for granted that managed fields, or the record of etcd's hook, prove who wrote last.
	carriedOver
)

// playedElsewhere lists the rows that other actors of a pair carry out, by side, writer and field.
var playedElsewhere = map[string]string{
	"Infrastructure: garbage collector: metadata.ownerReferences":     "pairCollector makes orphans",
	"Infrastructure: garbage collector: metadata.finalizers":          "pairCollector has them on the Cluster API object alone",
	"Infrastructure: garbage collector: metadata.name":                "pairCollector deletes",
	"Infrastructure: namespace controller: metadata.name":             "pairNamespaceController deletes",
	"Infrastructure: infrastructure provider: metadata.finalizers":    "provider puts its finalizer on, and takes it off",
	"Infrastructure: infrastructure provider of Azure: " + blockMoves: "provider acknowledges its pause",
}

const blockMoves = "metadata.annotations[" + authority.BlockMoveAnnotation + "]"

func rowOf(g authority.Grant, field string) string {
	return fmt.Sprintf("%s: %s: %s", g.Side, g.Writer, field)
}

// distinguished lists the prefixes of the fields that pairNeighbours write to an object of a pair. Any other field needs an actor that does what the field
// means.
var distinguished = []string{"spec", "metadata.labels", "metadata.annotations", "metadata.ownerReferences"}

// writeOf returns the write of a field that a row allows; false: pairNeighbours do not make that write.
func writeOf(g authority.Grant, field string) (neighbourWrite, bool) {
	w := neighbourWrite{grows: strings.HasPrefix(field, "spec"), while: g.While, what: fmt.Sprintf("a neighbour (%s) writes %s (%s)", g.Writer, field, g.Side)}
	switch {
	case g.Manager != "" || g.Actor == policies.EtcdOperator:
		w.class = carriedOver
	case g.While&^(authority.LeavingMachineAPI|authority.LeavingClusterAPI) == 0:
		w.class = finishing
	}
	return w, playedElsewhere[rowOf(g, field)] == "" &&
		slices.ContainsFunc(distinguished, func(of string) bool { return strings.HasPrefix(field, of) })
}

// neighbourWrites returns the writes that the rows of authority.Grants allow to the objects of a pair.
func (p *pairs) neighbourWrites() (out []neighbourWrite) {
	for _, g := range authority.Grants() {
		for _, field := range g.Fields {
			w, is := writeOf(g, field)
			if !is {
				continue
			}
			for _, w.on = range p.objectsOf(g) {
				same := func(o neighbourWrite) bool { return o.on == w.on && o.class == w.class && o.grows == w.grows }
				if i := slices.IndexFunc(out, same); i >= 0 {
					out[i].while |= w.while
				} else {
					out = append(out, w)
				}
			}
		}
	}
	return out
}

// objectsOf returns the objects of a pair that a row is about.
func (p *pairs) objectsOf(g authority.Grant) (out []which) {
	for _, o := range []struct {
		which
		side policies.Side
		kind string
		is   bool
	}{
		{ofM, policies.SideMachineAPI, p.kind(), true}, {ofC, policies.SideClusterAPI, p.kind(), true},
		{ofI, policies.SideInfrastructure, authority.InfraMachine, !p.set}, {ofK, policies.SideInfrastructure, authority.InfraInstance, p.keeps != keepsNothing},
	} {
		if o.is && g.Side == o.side && slices.Contains(g.Kinds, o.kind) {
			out = append(out, o.which)
		}
	}
	return out
}

// phases lists three phases for each source of authority: at rest, and, during a move, before and after an object's controllers acknowledge their pause. The
// index is the source's number.
var phases = [...][3]authority.Phase{
	{authority.Uninitialized, authority.LeavingUnknown, authority.LeavingUnknown},
	{authority.ByMachineAPI, authority.LeavingMachineAPI, authority.LeftMachineAPI},
	{authority.ByClusterAPI, authority.LeavingClusterAPI, authority.LeftClusterAPI},
}

// phase returns the phase that the locks see for an object of the pair. For a provider that never acknowledges a pause, the phase changes when Poundlock's
// patience is over. That the provider writes nothing after that is what Poundlock assumes.
func (p *pairs) phase(w *pair, on which) authority.Phase {
	o, of := *w.at(on), phases[number(w.source())]
	switch {
	case w.m.status() != authority.Migrating:
		return of[0]
	case !p.rowsOutlast && (o.has(pauseRequested|paused) || on == ofM && o.has(paused) || p.neverAcknowledges && o.has(pauseRequested|pauseSeen)):
		return of[2]
	}
	return of[1]
}

// late reports whether a late write to the Cluster API object may be stored: it was reviewed before authority began to leave Machine API. Until the object is
// released, its version is the one that the review saw.
func (n neighbourWrite) late(w *pair) bool {
	return n.on == ofC && n.while&authority.ByMachineAPI != 0 && w.c.has(mark|pauseRequested) &&
		(w.source() == authority.MachineAPI || w.m.status() == authority.ClusterAPI)
}

// Moves implements actor.
func (pairNeighbours) Moves(t *turn) {
	w := &t.was
	for _, write := range t.writes {
		if w.m.has(there) && w.at(write.on).has(there) && (t.phase(w, write.on)&write.while != 0 || write.late(w)) {
			t.might(write.what, func(n *pair) {
				t.takesEffect(n, write)
				n.wrote(write.on, user, write.grows)
			})
		}
	}
}

// takesEffect applies what follows from a neighbour's write, beside the fact that the object was written.
func (t *turn) takesEffect(n *pair, write neighbourWrite) {
	authoritative, away := ofM, ofC
	if n.source() == authority.ClusterAPI {
		authoritative, away = ofC, ofM
	}
	mirrored := n.source() != authority.Unset && n.m.presence() == authority.Present && n.c.presence() == authority.Present && n.c.has(mark)
	switch {
	case t.wideRow && write.on == ofC && n.source() == authority.MachineAPI:
		n.c.clear(fresh)
	case !mirrored || write.class == ignored:
	case write.class == carriedOver && !write.grows && side(n.source())&write.on != 0 &&
		t.phase(&t.was, write.on)&(authority.LeftMachineAPI|authority.LeftClusterAPI) != 0:
		// A mark is taken back after the mirror has caught up. Either direction of the mirror carries that over.
		if n.at(authoritative).has(lacking) { // the mark was taken back on this object, too
			n.at(authoritative).clear(lacking)
		} else {
			n.at(away).set(lacking)
		}
		n.m.clear(compared)
	case side(n.source())&write.on != 0 && (write.grows || t.can(labels)):
		n.at(authoritative).set(fresh)
		n.at(away).clear(fresh)
		n.m.clear(compared)
		n.outdatePasses(authoritative)
	case write.class == carriedOver && write.on == away:
		n.at(away).clear(lacking)
		n.at(authoritative).set(lacking)
		if n.mirror.c.has(there) && authoritative == ofC { // the mirror read the object before this write
			n.mirror.c.set(lacking)
		}
	}
}
