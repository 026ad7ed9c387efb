// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import "github.com/poundlock/poundlock/policies"

// Presence is whether an object exists and whether it is being deleted.
type Presence string

const (
	// Absent: the object does not exist.
	Absent Presence = "Absent"
	// Present: the object exists, and nobody has asked for its deletion.
	Present Presence = "Present"
	// Deleting: the object is being deleted and waits until its finalizers are removed.
	Deleting Presence = "Deleting"
)

// PresenceOf returns the Presence of an object. nil is an object that does not exist.
func PresenceOf(o *policies.Object) Presence {
	switch {
	case o == nil:
		return Absent
	case o.Deleting():
		return Deleting
	}
	return Present
}

// DetachedAnnotation marks a Machine API object whose parent was deleted while Cluster API was authoritative for that parent. When the garbage collector then
// deletes the marked object, the object's twin stays (DESIGN §3.3).
const DetachedAnnotation = Domain + "/detached"

// DeletionState is the state of a pair with an object that is deleted or being deleted.
type DeletionState struct {
	// Authority is the API whose object is authoritative: the Source of the Machine API object. It is Unset if there is no such object.
	Authority API
	// InTransit: status.authoritativeAPI is Migrating.
	InTransit bool
	// MachineAPI and ClusterAPI are the Presence of the two core objects. A Cluster API object that is not yet the mirror of an authoritative Machine API object
	// counts as Absent, because Poundlock may not delete such an object.
	MachineAPI, ClusterAPI Presence
	// Owned: the owner of the mirror is a controller of Machines, which means a MachineSet and not merely the Cluster.
	Owned bool
	// Detached: the mirror is the Machine API object and carries DetachedAnnotation.
	Detached bool
	// Parent describes the pair that owns the mirror. It is the zero value if the mirror has no owner.
	Parent Parent
	// Children: the mirror still owns objects that the garbage collector would delete together with the mirror.
	Children bool
	// Held: the controller of the authoritative object has not yet removed that controller's finalizer, so the machine may still exist.
	Held bool
	// Marked: a core object carries the sync finalizer or the mirror's mark.
	Marked bool
	// Unreleased: Cluster API is authoritative, and one of its objects still carries the pause annotation. Only the handoff removes that annotation, and only
	// while the Machine API object exists.
	Unreleased bool
	// Surroundings is whether anything that the pair lives in is being deleted.
	Surroundings Surroundings
	// Gate is the state of the feature gate, both at the deletion of the mirror and now.
	Gate GateWas
}

// Surroundings is whether anything that a pair lives in is being deleted: the namespaces of both objects, the CRDs of its kind, of its infrastructure and of
// its owner, and the Cluster.
type Surroundings string

const (
	// Stay: nothing that the pair lives in is being deleted.
	Stay Surroundings = ""
	// Go: a part of what the pair lives in is being deleted or is gone. The deletion of a mirror may then be a consequence of that, without a user's request
	// (DESIGN §3.3).
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

// abandons reports whether the parent on this side is being deleted or gone while the parent's authoritative twin stays. Such a deletion of the parent is no
// request to delete its Machines.
func (p Parent) abandons(side API) bool {
	return p.on(side) != Present && p.on(side.Other()) == Present && p.Authority != side
}

// DeletionStep is what Poundlock does next with a pair that has an object which is deleted or being deleted.
type DeletionStep string

const (
	// KeepMirroring: nothing is being deleted.
	KeepMirroring DeletionStep = "KeepMirroring"
	// AwaitGate: the feature gate is off, so Machine API's controllers ignore which API is authoritative. They may have deleted the mirror themselves, so that
	// the deletion is no user's request.
	AwaitGate DeletionStep = "AwaitGate"
	// AwaitHandoff: authority is moving, or has moved and Cluster API is not released yet. The handoff completes or reverts before the deletion continues.
	AwaitHandoff DeletionStep = "AwaitHandoff"
	// DeleteMirror deletes the mirror, because the authoritative object is being deleted.
	DeleteMirror DeletionStep = "DeleteMirror"
	// DeleteAuthority deletes the authoritative object, because its owned mirror was deleted.
	DeleteAuthority DeletionStep = "DeleteAuthority"
	// AwaitAuthority waits until the controller of the authoritative object has terminated the machine and removed that controller's finalizer.
	AwaitAuthority DeletionStep = "AwaitAuthority"
	// DetachChildren detaches the mirror's children from the mirror, so that the garbage collector does not delete the children when the mirror is released.
	DetachChildren DeletionStep = "DetachChildren"
	// ReleaseMirror removes every finalizer that would hold the mirror: Poundlock's own, and those of controllers that are paused. The mirror's infrastructure
	// object is released first. If the mirror is a Cluster API object whose authoritative object stays, Poundlock then recreates the mirror.
	ReleaseMirror DeletionStep = "ReleaseMirror"
	// ReleaseAuthority removes the sync finalizer of the authoritative object, because the mirror is gone.
	ReleaseAuthority DeletionStep = "ReleaseAuthority"
	// Forget removes the sync finalizer and the mirror's mark from an object that has no twin any more. The object's own API acts on it without Poundlock.
	Forget DeletionStep = "Forget"
)

// Next returns the next step for a pair with an object that is deleted or being deleted (converting › Deletion of Machines, › Summary of the rules; DESIGN
// §3.3). Each step is idempotent and leads to a state whose next step continues the deletion, so the next pass repairs a crash between any two steps. The
// authoritative object's own sync finalizer is removed last.
func (d DeletionState) Next() DeletionStep {
	switch {
	case d.MachineAPI == Absent:
		return d.forget()
	case d.MachineAPI == Present && d.ClusterAPI != Deleting:
		return KeepMirroring
	case d.Authority == Unset:
		return d.forget() // nobody mirrored the object, so Poundlock may delete nothing of its twin
	case d.InTransit:
		return AwaitHandoff
	}
	switch d.on(d.Authority) {
	case Deleting:
		return d.authorityGoing()
	case Present:
		return d.mirrorGoing()
	}
	// The authoritative object outlives its mirror unless it was lost, with its surroundings or while Poundlock was away. So nobody has asked to delete what the
	// Machine API runs of the mirror's children.
	if d.Children {
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
		// Cluster API never completes the deletion of a Machine whose MachineSet it does not find. And if the authoritative object is deleted only because its
		// surroundings are, nobody has asked to terminate what the other API runs.
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

// ungated reports whether the Machine API's MachineSet controller may have deleted the mirror although the Machine API is not authoritative for that
// controller's set. While the feature gate is off, the controller ignores authority and deletes the Machines that the set has too many of. Where the Machine
// API is authoritative for the set, the controller may delete the set's Machines.
func (d DeletionState) ungated(side API) bool {
	return side == MachineAPI && d.Parent.Authority == ClusterAPI
}
