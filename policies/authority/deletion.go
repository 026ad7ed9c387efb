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

// DetachedAnnotation marks a Machine API object whose parent was deleted while Cluster API was authoritative for the parent. When the garbage collector then
// deletes the marked object, the object's twin stays (DESIGN §3.3).
const DetachedAnnotation = Domain + "/detached"

// DeletionState is the state of a pair with an object that is deleted or being deleted.
type DeletionState struct {
	// Authority is the API that is authoritative, as Source reads it from the Machine API object. It is Unset if there is no Machine API object.
	Authority API
	// InTransit reports that status.authoritativeAPI is Migrating.
	InTransit bool
	// MachineAPI and ClusterAPI are the Presence of the two core objects. A Cluster API object that is not yet the mirror of an authoritative Machine API object
	// counts as Absent, because Poundlock may not delete such an object.
	MachineAPI, ClusterAPI Presence
	// Owned reports that the owner of the mirror is a controller of Machines: a MachineSet, and not only the Cluster.
	Owned bool
	// Detached reports that the mirror is the Machine API object and carries DetachedAnnotation.
	Detached bool
	// Parent is the pair that owns this pair. It is the zero value if the mirror has no owner.
	Parent Parent
	// Children reports that the mirror still owns objects, which the garbage collector would delete together with the mirror.
	Children bool
	// Held reports that the controller of the authoritative object has not removed its own finalizer yet, so the machine may still exist.
	Held bool
	// Marked reports that one of the two core objects carries the sync finalizer or MirrorAnnotation.
	Marked bool
	// Unreleased reports that Cluster API is authoritative, but one of its objects still carries the pause annotation. Only the handoff removes that annotation,
	// and it does so only while the Machine API object exists.
	Unreleased bool
	// Surroundings is whether anything that the pair lives in or depends on is being deleted.
	Surroundings Surroundings
	// Gate is the state of the feature gate MachineAPIMigration, both when the mirror was deleted and now.
	Gate GateWas
}

// Surroundings is whether anything that a pair lives in or depends on is being deleted: the namespaces of both objects, the Cluster, or one of the CRDs (of the
// pair's kind, of its infrastructure or of its owner).
type Surroundings string

const (
	// Stay: none of these is being deleted.
	Stay Surroundings = ""
	// Go: one of these is being deleted or is gone. The mirror may then have been deleted as a consequence, without a user's request (DESIGN §3.3).
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

// abandons reports whether the parent's object on this side is being deleted or is gone, while the parent's authoritative object stays. Such a deletion of the
// parent is no request to delete the parent's Machines.
func (p Parent) abandons(side API) bool {
	return p.on(side) != Present && p.on(side.Other()) == Present && p.Authority != side
}

// DeletionStep is Poundlock's next step for a pair with an object that is being deleted or already gone.
type DeletionStep string

const (
	// KeepMirroring: nothing is being deleted.
	KeepMirroring DeletionStep = "KeepMirroring"
	// AwaitGate: the feature gate is off, so the Machine API's controllers ignore which API is authoritative. They may have deleted the mirror themselves, so the
	// deletion may be no user's request.
	AwaitGate DeletionStep = "AwaitGate"
	// AwaitHandoff: authority is moving, or it has moved but Cluster API's objects are still paused. The handoff first completes or reverts the move, and then the
	// deletion continues.
	AwaitHandoff DeletionStep = "AwaitHandoff"
	// DeleteMirror deletes the mirror, because the authoritative object is being deleted.
	DeleteMirror DeletionStep = "DeleteMirror"
	// DeleteAuthority deletes the authoritative object, because its mirror has an owner and was deleted.
	DeleteAuthority DeletionStep = "DeleteAuthority"
	// AwaitAuthority waits until the controller of the authoritative object has terminated the machine and removed its own finalizer.
	AwaitAuthority DeletionStep = "AwaitAuthority"
	// DetachChildren removes the mirror as an owner from the mirror's children, so that the garbage collector does not delete the children when the mirror is
	// released.
	DetachChildren DeletionStep = "DetachChildren"
	// ReleaseMirror removes every finalizer that would hold the mirror: Poundlock's own, and those of controllers that are paused. The mirror's infrastructure
	// object is released first. If the authoritative object stays and the mirror is a Cluster API object, Poundlock then recreates the mirror.
	ReleaseMirror DeletionStep = "ReleaseMirror"
	// ReleaseAuthority removes the sync finalizer of the authoritative object, because the mirror is gone.
	ReleaseAuthority DeletionStep = "ReleaseAuthority"
	// Forget removes the sync finalizer and MirrorAnnotation from an object that no longer has a twin. From then on the object's own API acts on it without
	// Poundlock.
	Forget DeletionStep = "Forget"
)

// Next returns the next step for a pair with an object that is being deleted or already gone (converting › Deletion of Machines, › Summary of the rules; DESIGN
// §3.3). Each step is idempotent and leads to a state whose next step continues the deletion. So after a crash between two steps, the next pass continues. The
// authoritative object's own sync finalizer is removed last.
func (d DeletionState) Next() DeletionStep {
	switch {
	case d.MachineAPI == Absent:
		return d.forget()
	case d.MachineAPI == Present && d.ClusterAPI != Deleting:
		return KeepMirroring
	case d.Authority == Unset:
		return d.forget() // nobody has mirrored the object yet, so Poundlock may delete nothing of its twin
	case d.InTransit:
		return AwaitHandoff
	}
	switch d.on(d.Authority) {
	case Deleting:
		return d.authorityGoing()
	case Present:
		return d.mirrorGoing()
	}
	// The authoritative object is gone although the mirror is still there. Normally it outlives its mirror, so it was lost while Poundlock was away, or together
	// with what it lives in or depends on (Surroundings). So nobody has asked to delete what the Machine API runs of the mirror's children.
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
		// Cluster API never completes the deletion of a Machine whose MachineSet does not exist. And if the authoritative object is deleted only because what it
		// lives in is deleted (Surroundings), nobody has asked to terminate what the other API runs.
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

// ungated reports whether the Machine API's MachineSet controller may have deleted the mirror although Cluster API is authoritative for the controller's set.
// While the feature gate is off, the controller ignores authority, and deletes surplus Machines of the set. If the Machine API is authoritative for the set,
// the controller is allowed to do that.
func (d DeletionState) ungated(side API) bool {
	return side == MachineAPI && d.Parent.Authority == ClusterAPI
}
