// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"fmt"
	"testing"

	"github.com/poundlock/poundlock/policies/authority"
)

// These are the deletions in the table of converting › Summary of the rules, and in DESIGN §3.3.
func TestDeletion(t *testing.T) {
	const (
		mapi, capi             = authority.MachineAPI, authority.ClusterAPI
		absent, there, leaving = authority.Absent, authority.Present, authority.Deleting
	)
	setsOfCAPI := authority.Parent{Authority: capi, MachineAPI: there, ClusterAPI: there}
	setGoesUnderCAPI := authority.Parent{Authority: capi, MachineAPI: leaving, ClusterAPI: there}
	for _, c := range []struct {
		sentence string
		given    authority.DeletionState
		want     authority.DeletionStep
	}{
		{"nothing is being deleted", authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: there, Marked: true}, authority.KeepMirroring},
		{"the mirror has yet to be made", authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: absent}, authority.KeepMirroring},
		{"nobody has settled which API is authoritative", authority.DeletionState{MachineAPI: leaving, ClusterAPI: there}, authority.KeepMirroring},
		{"a move is under way", authority.DeletionState{Authority: mapi, InTransit: true, MachineAPI: leaving, ClusterAPI: there}, authority.AwaitHandoff},

		{"the authoritative Machine API object is deleted, its mirror follows", authority.DeletionState{Authority: mapi, MachineAPI: leaving, ClusterAPI: there, Held: true}, authority.DeleteMirror},
		{"the authoritative Cluster API object is deleted, its mirror follows", authority.DeletionState{Authority: capi, MachineAPI: there, ClusterAPI: leaving, Held: true}, authority.DeleteMirror},
		{"the instance still runs, so the mirror keeps its finalizers", authority.DeletionState{Authority: mapi, MachineAPI: leaving, ClusterAPI: leaving, Held: true}, authority.AwaitAuthority},
		{"the instance still runs and the mirror is gone already", authority.DeletionState{Authority: capi, MachineAPI: absent, ClusterAPI: leaving, Held: true, Marked: true}, authority.Forget},
		{"the instance is gone, the mirror goes", authority.DeletionState{Authority: mapi, MachineAPI: leaving, ClusterAPI: leaving}, authority.ReleaseMirror},
		{"the instance is gone, the Machine API mirror goes", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: leaving}, authority.ReleaseMirror},
		{"the mirror is gone, the authority goes", authority.DeletionState{Authority: mapi, MachineAPI: leaving, ClusterAPI: absent, Marked: true}, authority.ReleaseAuthority},
		{"the authority vanished without us and its mirror is being deleted", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: absent, Marked: true}, authority.ReleaseMirror},
		{"the same mirror has Machines, which Machine API may run", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: absent, Marked: true, Children: true}, authority.DetachChildren},

		{"Machine API, delete, has mirror, owned: the Cluster API Machine is deleted", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true}, authority.DeleteAuthority},
		{"Machine API, delete, has mirror, not owned: the Cluster API Machine remains", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there}, authority.ReleaseMirror},
		{"Cluster API, delete, has mirror, owned: the Machine API Machine is deleted", authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Owned: true}, authority.DeleteAuthority},
		{"Cluster API, delete, has mirror, not owned: it goes and is recreated", authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving}, authority.ReleaseMirror},

		{"an owned Machine was detached before the collector took it", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Detached: true}, authority.ReleaseMirror},
		{"authority has just moved, and Cluster API is not yet released: without this object it would stay paused for ever",
			authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Unreleased: true}, authority.AwaitHandoff},
		{"a pause on the mirror's side holds nothing up", authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Unreleased: true}, authority.ReleaseMirror},
		{"the collector takes a Machine while its MachineSet waits, before it is marked", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Parent: setGoesUnderCAPI}, authority.ReleaseMirror},
		{"the collector takes a Machine whose MachineSet is gone and whose twin's MachineSet stays",
			authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Parent: authority.Parent{Authority: capi, MachineAPI: absent,
				ClusterAPI: there}}, authority.ReleaseMirror},
		{"the Cluster API MachineSet that mirrors goes: its Machines are recreated, not ended",
			authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Owned: true, Parent: authority.Parent{Authority: mapi, MachineAPI: there,
				ClusterAPI: leaving}}, authority.ReleaseMirror},
		{"the authoritative Cluster API MachineSet goes: its Machines end, also those that Machine API runs",
			authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Owned: true, Parent: authority.Parent{Authority: capi, MachineAPI: there,
				ClusterAPI: leaving}}, authority.DeleteAuthority},
		{"both MachineSets go: their Machines end",
			authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Parent: authority.Parent{Authority: capi, MachineAPI: leaving,
				ClusterAPI: leaving}}, authority.DeleteAuthority},
		{"scale down of the authoritative MachineSet deletes a Machine that the other API runs",
			authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Owned: true, Parent: authority.Parent{Authority: capi, MachineAPI: there,
				ClusterAPI: there}}, authority.DeleteAuthority},

		{"the Cluster API mirror of an owned Machine is deleted with its namespace: no instance is terminated",
			authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Owned: true, Surroundings: authority.Go}, authority.ReleaseMirror},
		{"the Machine API mirror of an owned Machine is deleted with its namespace: no instance is terminated",
			authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Surroundings: authority.Go}, authority.ReleaseMirror},
		{"the Cluster is deleted and with it the authoritative MachineSet: a Machine that Machine API runs stays",
			authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Owned: true, Surroundings: authority.Go,
				Parent: authority.Parent{Authority: capi, MachineAPI: there, ClusterAPI: leaving}}, authority.ReleaseMirror},
		{"the authoritative MachineSet goes with its namespace, and somebody deletes its mirror: what the mirror's API runs is detached",
			authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: leaving, Children: true, Surroundings: authority.Go}, authority.DetachChildren},
		{"the same, and the authoritative MachineSet is gone", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: absent, Children: true, Surroundings: authority.Go}, authority.DetachChildren},
		{"the surroundings of the MachineSets go: the Machines are detached from the mirror all the same",
			authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Children: true, Surroundings: authority.Go}, authority.DetachChildren},
		{"the authority itself is deleted with its namespace: its controller ends the machine, and the mirror follows",
			authority.DeletionState{Authority: mapi, MachineAPI: leaving, ClusterAPI: there, Held: true, Surroundings: authority.Go}, authority.DeleteMirror},

		{"Machine API's MachineSet controller, with its gate off, deleted the mirror of a Machine in a set of Cluster API's: it is recreated",
			authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Parent: setsOfCAPI, Gate: authority.GateOffThen},
			authority.ReleaseMirror},
		{"the gate is off now: it waits for the gate", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Parent: setsOfCAPI, Gate: authority.GateOff},
			authority.AwaitGate},
		{"the gate was on: a person deleted it", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Parent: setsOfCAPI}, authority.DeleteAuthority},
		{"a set of the Machine API's, which acts whatever the gate is, deleted its Machine",
			authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Gate: authority.GateOffThen,
				Parent: authority.Parent{Authority: mapi, MachineAPI: there, ClusterAPI: there}}, authority.DeleteAuthority},
		{"no controller of the Machine API deleted Cluster API's mirror",
			authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Owned: true, Parent: setsOfCAPI, Gate: authority.GateOffThen},
			authority.DeleteAuthority},
		{"what was detached goes while the gate is off", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Owned: true, Detached: true, Parent: setsOfCAPI, Gate: authority.GateOff},
			authority.ReleaseMirror},

		{"a Machine API MachineSet that mirrors is deleted: its Machines are detached first", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there, Children: true}, authority.DetachChildren},
		{"its Machines are detached: it goes, and the Cluster API MachineSet stays", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: there}, authority.ReleaseMirror},
		{"a Cluster API MachineSet that mirrors is deleted: its Machines are detached first", authority.DeletionState{Authority: mapi, MachineAPI: there, ClusterAPI: leaving, Children: true}, authority.DetachChildren},
		{"both MachineSets are deleted, Machine API's authoritative: Cluster API would never end a Machine whose MachineSet is gone, so it is detached first",
			authority.DeletionState{Authority: mapi, MachineAPI: leaving, ClusterAPI: leaving, Children: true}, authority.DetachChildren},
		{"both MachineSets are deleted, Cluster API's authoritative: nothing is detached", authority.DeletionState{Authority: capi, MachineAPI: leaving, ClusterAPI: leaving, Children: true}, authority.ReleaseMirror},
		{"the authoritative MachineSet is deleted: nothing is detached", authority.DeletionState{Authority: mapi, MachineAPI: leaving, ClusterAPI: there, Children: true}, authority.DeleteMirror},

		{"the Machine API object is gone, its Cluster API twin acts on its own", authority.DeletionState{MachineAPI: absent, ClusterAPI: there, Marked: true}, authority.Forget},
		{"a stale sync finalizer never blocks", authority.DeletionState{MachineAPI: absent, ClusterAPI: leaving, Marked: true}, authority.Forget},
		{"a Cluster API object that never had a twin", authority.DeletionState{MachineAPI: absent, ClusterAPI: leaving}, authority.KeepMirroring},
		{"both are gone", authority.DeletionState{MachineAPI: absent, ClusterAPI: absent}, authority.KeepMirroring},
	} {
		if got := c.given.Next(); got != c.want {
			t.Errorf("%s: %s, want %s", c.sentence, got, c.want)
		}
	}
}

// Whatever is deleted first, three things hold. The steps come to an end. The authoritative object is deleted only if the rules say so. A mirror is released
// only if no machine can be left behind by that.
func TestDeletionEnds(t *testing.T) {
	presences := []authority.Presence{authority.Absent, authority.Present, authority.Deleting}
	var parents []authority.Parent
	for _, a := range []authority.API{authority.MachineAPI, authority.ClusterAPI} {
		for _, m := range presences {
			for _, c := range presences {
				parents = append(parents, authority.Parent{Authority: a, MachineAPI: m, ClusterAPI: c})
			}
		}
	}
	walked := 0
	for _, a := range []authority.API{authority.Unset, authority.MachineAPI, authority.ClusterAPI} {
		for _, m := range presences {
			for _, c := range presences {
				for _, p := range parents {
					for bits := range 96 {
						surroundings := []authority.Surroundings{authority.Stay, authority.Go}[bits>>4&1]
						gate := []authority.GateWas{authority.GateOn, authority.GateOff, authority.GateOffThen}[bits>>5]
						walk(t, authority.DeletionState{Surroundings: surroundings, Gate: gate,
							Authority: a, MachineAPI: m, ClusterAPI: c, Parent: p, Held: true, Marked: true,
							Owned: bits&1 != 0, Detached: bits&2 != 0, Children: bits&4 != 0, InTransit: bits&8 != 0})
						walked++
					}
				}
			}
		}
	}
	if walked != 3*9*18*96 {
		t.Errorf("walked %d states", walked)
	}
}

// walk applies each step to d, as the mirror and the controllers would carry it out, until nothing is left to do.
func walk(t *testing.T, d authority.DeletionState) {
	t.Helper()
	start := d
	for range 20 {
		switch step := d.Next(); step {
		case authority.KeepMirroring, authority.AwaitHandoff, authority.AwaitGate:
			return
		case authority.DeleteMirror:
			set(&d, d.Authority.Other(), authority.Deleting)
		case authority.DeleteAuthority:
			if !start.Owned || start.Detached || start.Surroundings == authority.Go {
				t.Fatalf("%+v: the authority is deleted", start)
			}
			set(&d, d.Authority, authority.Deleting)
		case authority.AwaitAuthority:
			d.Held = false // its controller terminates the machine
		case authority.DetachChildren:
			d.Children = false
		case authority.ReleaseMirror:
			if of(d, d.Authority) == authority.Deleting && d.Held || of(d, d.Authority) == authority.Present && d.Children {
				t.Fatalf("%+v: the mirror is released too early", start)
			}
			set(&d, d.Authority.Other(), authority.Absent)
		case authority.ReleaseAuthority:
			if of(d, d.Authority.Other()) != authority.Absent {
				t.Fatalf("%+v: the authority goes before its mirror", start)
			}
			set(&d, d.Authority, authority.Absent)
			d.Marked = of(d, d.Authority.Other()) != authority.Absent
		case authority.Forget:
			d.Marked = false
		default:
			t.Fatalf("%+v: unknown step %q", start, step)
		}
	}
	t.Fatal(fmt.Sprintf("%+v", start), "never ends")
}

func of(d authority.DeletionState, side authority.API) authority.Presence {
	if side == authority.MachineAPI {
		return d.MachineAPI
	}
	return d.ClusterAPI
}

func set(d *authority.DeletionState, side authority.API, p authority.Presence) {
	if side == authority.MachineAPI {
		d.MachineAPI = p
		return
	}
	d.ClusterAPI = p
}
