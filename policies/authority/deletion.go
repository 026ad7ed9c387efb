// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import "github.com/poundlock/poundlock/policies"

// Presence is how much there is of an object.
type Presence string

const (
	// Absent: there is none.
	Absent Presence = "Absent"
	// Present: it exists, and nobody has asked for its deletion.
	Present Presence = "Present"
	// Deleting: it waits for its finalizers to go.
	Deleting Presence = "Deleting"
)

// PresenceOf reports whether an object exists, or is being deleted; nil: it does not exist.
func PresenceOf(o *policies.Object) Presence {
	switch {
	case o == nil:
		return Absent
	case o.Deleting():
		return Deleting
	}
	return Present
}

// DetachedAnnotation marks a Machine API object whose parent was deleted while Cluster API was authoritative for that parent. When the collector then
// deletes the object, its twin stays (DESIGN §3.3).
const DetachedAnnotation = Domain + "/detached"

// DeletionState is the state of a pair whose sides may be deleted, or being deleted.
type DeletionState struct {
	// Authority is the API whose object is authoritative: Source of the Machine API object, Unset where there is none.
	Authority API
	// InTransit: status is Migrating.
	InTransit bool
	// MachineAPI and ClusterAPI are the two core objects. A Cluster API object that is not yet the mirror of an authoritative Machine API object counts as
	// Absent: Poundlock may not delete it.
	MachineAPI, ClusterAPI Presence
	// Owned: the mirror has a controller of Machines as its owner (a MachineSet; not merely the Cluster).
	Owned bool
	// Detached: the mirror is the Machine API object, and carries DetachedAnnotation.
	Detached bool
	// Parent is what is known of the pair that owns the mirror; zero where it has none.
	Parent Parent
	// Children: objects that the collector would delete with the mirror have not been detached from it.
	Children bool
	// Held: the authority's controller has not yet removed its finalizer, so the machine may still exist.
	Held bool
	// Marked: a core object carries the sync finalizer or the mirror's mark.
	Marked bool
	// Unreleased: Cluster API is authoritative, and one of its objects still carries the pause annotation. Only the handoff removes it, and only while the
	// Machine API object exists.
	Unreleased bool
	// Surroundings is what becomes of all that the pair lives in.
	Surroundings Surroundings
	// Gate is the feature gate when the mirror was deleted, and now.
	Gate GateWas
}

// Surroundings is what becomes of what a pair lives in: both namespaces, the CRDs of its kind, its infrastructure's and its owner's, and the Cluster.
type Surroundings string

const (
	// Stay: nothing of it is being deleted.
	Stay Surroundings = ""
	// Go: a part of it is being deleted or is gone, so the deletion of a mirror may be a consequence, without a user's request (DESIGN §3.3).
	Go Surroundings = "Go"
)

// Parent is the pair of objects that owns another pair.
type Parent struct {
	Authority              API
	MachineAPI, ClusterAPI Presence
}

func (p Parent) on(side API) Presence {
	if side == MachineAPI {
		return p.MachineAPI
	}
	return p.ClusterAPI
}

// abandons reports whether the parent on this side is being deleted or gone while its authoritative twin stays. That is no request to delete the Machines.
func (p Parent) abandons(side API) bool {
	return p.on(side) != Present && p.on(side.Other()) == Present && p.Authority != side
}

// DeletionStep is what the mirror does next to a pair with a side that is deleted, or being deleted.
type DeletionStep string

const (
	// KeepMirroring: nothing is being deleted.
	KeepMirroring DeletionStep = "KeepMirroring"
	// AwaitGate: the feature gate is off, so Machine API's controllers ignore which API is authoritative, and a deleted mirror may be their doing and no
	// request.
	AwaitGate DeletionStep = "AwaitGate"
	// AwaitHandoff: authority is moving, or has moved and Cluster API is not released yet. The handoff completes or reverts first.
	AwaitHandoff DeletionStep = "AwaitHandoff"
	// DeleteMirror deletes the mirror, because the authority is being deleted.
	DeleteMirror DeletionStep = "DeleteMirror"
	// DeleteAuthority deletes the authority, because its owned mirror was deleted.
	DeleteAuthority DeletionStep = "DeleteAuthority"
	// AwaitAuthority waits until the authority's controller has ended the machine and removed its finalizer.
	AwaitAuthority DeletionStep = "AwaitAuthority"
	// DetachChildren detaches the mirror's children, so that the collector does not delete them, before the mirror may go.
	DetachChildren DeletionStep = "DetachChildren"
	// ReleaseMirror removes every finalizer that would hold the mirror: Poundlock's, and those of controllers that are
	// paused. Its infrastructure object goes first. A Cluster API mirror whose authority stays is then recreated.
	ReleaseMirror DeletionStep = "ReleaseMirror"
	// ReleaseAuthority removes the sync finalizer of the authority: the mirror is gone.
	ReleaseAuthority DeletionStep = "ReleaseAuthority"
	// Forget removes the sync finalizer and the mirror's mark from what has no twin any more and acts on its own.
	Forget DeletionStep = "Forget"
)

// Next decides the next step for a pair with a side that is deleted, or being deleted (converting › Deletion of Machines, › Summary of
// the rules; DESIGN §3.3). Each step is idempotent and leads to a state whose next step continues it, so that a
// crash between any two is repaired by the next pass. The authority's own sync finalizer goes last.
func (d DeletionState) Next() DeletionStep {
	switch {
	case d.MachineAPI == Absent:
		return d.forget()
	case d.MachineAPI == Present && d.ClusterAPI != Deleting:
		return KeepMirroring
	case d.Authority == Unset:
		return d.forget() // nobody mirrored it: nothing of the twin is Poundlock's to delete
	case d.InTransit:
		return AwaitHandoff
	}
	switch d.on(d.Authority) {
	case Deleting:
		return d.authorityGoing()
	case Present:
		return d.mirrorGoing()
	}
	if d.Children && d.Surroundings == Go {
		return DetachChildren
	}
	return ReleaseMirror
}

func (d DeletionState) on(side API) Presence {
	if side == MachineAPI {
		return d.MachineAPI
	}
	return d.ClusterAPI
}

func (d DeletionState) forget() DeletionStep {
	if d.Marked {
		return Forget
	}
	return KeepMirroring
}

func (d DeletionState) authorityGoing() DeletionStep {
	mirror := d.on(d.Authority.Other())
	switch {
	case mirror == Present:
		return DeleteMirror
	case d.Held:
		return AwaitAuthority
	case mirror == Deleting && d.Children && (d.Authority == MachineAPI || d.Surroundings == Go):
		// Cluster API never ends a Machine whose MachineSet it does not find. And of an authority that goes with its surroundings nobody asked to end
		// what the other API runs.
		return DetachChildren
	case mirror == Deleting:
		return ReleaseMirror
	}
	return ReleaseAuthority
}

func (d DeletionState) mirrorGoing() DeletionStep {
	side := d.Authority.Other()
	asked := d.Owned && !d.Detached && !d.Parent.abandons(side) && d.Surroundings == Stay
	switch {
	case asked && d.Gate == GateOff && d.ungated(side):
		return AwaitGate
	case asked && !(d.Gate == GateOffThen && d.ungated(side)):
		return DeleteAuthority
	case d.Children:
		return DetachChildren
	case d.Unreleased && side == MachineAPI:
		return AwaitHandoff
	}
	return ReleaseMirror
}

// ungated reports whether the Machine API's MachineSet controller may have deleted the mirror although the Machine API is not authoritative for its set.
// While the feature gate is off it ignores authority, and deletes the Machines that the set has too many of. A set for which the Machine API is
// authoritative may delete its Machines.
func (d DeletionState) ungated(side API) bool {
	return side == MachineAPI && d.Parent.Authority == ClusterAPI
}
