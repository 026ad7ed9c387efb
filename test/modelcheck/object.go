// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/poundlock/poundlock/policies/authority"
)

// object is the part of a stored object that anybody in the model decides from, one bit for each fact; 0: there is no object. A controller's view is an older
// value of it.
type object uint32

const (
	there object = 1 << iota
	leaving
	// syncFin is Poundlock's finalizer, ctlFin that of the object's own controller. fg and orph are the garbage collector's finalizers, which a person's deletion
	// requests by its propagation policy.
	syncFin
	ctlFin
	fg
	orph
	// pauseRequested is the pause annotation. acting and paused are the condition Paused with the status False and True.
	pauseRequested
	acting
	paused
	// mark: the object has the annotation that marks Poundlock's mirror.
	mark
	// owned: the provider's object has an owner reference to the present Cluster API Machine. dangling: it has one to a Machine that is gone.
	owned
	dangling
	// fresh: the object's spec is the last one that a person gave the authoritative object. pid: the object has the ID of the instance.
	fresh
	pid
	// These are of the Machine API object. wants: spec.authoritativeAPI is ClusterAPI. synced, failed: Synchronized is True, or False. caught:
	// status.synchronizedGeneration is the source's generation. detached: it has the mark of a Machine taken from its set.
	wants
	synced
	failed
	caught
	detached
	// theirs: the object's creator set the pause annotation, before Poundlock applied anything to the object.
	theirs
	// statusBit and originBit are the lower of two bits each. They hold status.authoritativeAPI and status.synchronizedAPI, as indexes of values.
	statusBit
	_
	originBit
	_
	// stopped is only of views: the Cluster is paused as a whole.
	stopped
	// earlier is only of views: the object that is seen is gone, and another of its name exists.
	earlier
	// leftover is only of views: an older Poundlock has left the object acting, and the controller has not seen a pause yet.
	leftover
	// pauseSeen: the provider never acknowledges a pause, and the pause was requested as long ago as Poundlock's patience lasts.
	pauseSeen
	// untouched: Poundlock adopted the Machine API object before its controllers could ask for an instance. decided: during the present wait, a person has
	// answered that no instance exists.
	untouched
	decided
	// hooked, on the Cluster API object: it has Poundlock's hook (authority.InstanceHookAnnotation).
	hooked
	// emptied, on the Machine API object: the namespace of its twin is being deleted, with everything in it. This is no part of the stored object, and setting it
	// is no write.
	emptied
)

var values = [...]authority.API{authority.Unset, authority.MachineAPI, authority.ClusterAPI, authority.Migrating}

// compared, on the Machine API object: Poundlock's process remembers that the mirror found the pair equal, and what the mirror was made from
// (authority.Edition). This is no part of the stored object. The bit is free there, because earlier is only of views.
const compared = earlier

// announced, of the Cluster API object: the handoff has written that Cluster API is about to become authoritative (authority.Arriving). A request takes that
// back, because the generation of the Machine API object is part of the announcement. The bit is free there, because wants is of the Machine API object.
const announced = wants

// lacking, of the objects of both APIs: a neighbour has written to the other object what has to be carried over, and this object does not have it yet.
const lacking = pauseSeen

// requesting, of stored checks: the check has asked another component to remediate a Machine. Only the check's own controller takes that back.
const requesting = stopped

// ungated, of the Machine API object: its controller has restarted with the feature gate off, and does not look at which API is authoritative. phaseDeleting:
// that controller has begun to terminate the instance.
const (
	ungated       = leftover
	phaseDeleting = stopped
)

// recorded, of the Machine API object: status.synchronizedGeneration is stored, perhaps as 0. It says that the object of Cluster API, which is authoritative,
// existed. Nobody decides from it without the deed aways, so other walks leave it out.
const recorded = dangling

func number(a authority.API) object { return object(slices.Index(values[:], a)) }

func (o object) has(bits object) bool       { return o&bits == bits }
func (o *object) set(bits object)           { *o |= bits }
func (o *object) clear(bits object)         { *o &^= bits }
func (o object) status() authority.API      { return values[o/statusBit&3] }
func (o object) origin() authority.API      { return values[o/originBit&3] }
func (o *object) setStatus(a authority.API) { *o = *o&^(3*statusBit) | number(a)*statusBit }
func (o *object) setOrigin(a authority.API) { *o = *o&^(3*originBit) | number(a)*originBit }

func (o object) requested() authority.API {
	if o.has(wants) {
		return authority.ClusterAPI
	}
	return authority.MachineAPI
}

// source returns authority.Source of the Machine API object: the API that the mirror copies from.
func (o object) source() authority.API {
	return authority.Source(authority.Shape{Current: o.status(), SynchronizedAPI: o.origin()})
}

// authoritative returns the API whose object a deletion is about, as the mirror reads it.
func (o object) authoritative() authority.API {
	if s := o.source(); s != authority.Unset || !o.has(wants) {
		return s
	}
	return authority.ClusterAPI
}

func (o object) presence() authority.Presence {
	switch {
	case !o.has(there):
		return authority.Absent
	case o.has(leaving):
		return authority.Deleting
	}
	return authority.Present
}

func (o *object) acknowledge(bit object) {
	o.clear(paused | acting)
	o.set(bit)
}

var bitNames = []struct {
	bit  object
	name string
}{
	{leaving, "being deleted"}, {syncFin, "sync finalizer"}, {ctlFin, "controller's finalizer"}, {fg, "foreground"}, {orph, "orphan"},
	{pauseRequested, "pause annotation"},
	{acting, "Paused=False"}, {paused, "Paused=True"}, {mark, "mirror's mark"}, {owned, "owned"}, {dangling, "owner gone"},
	{fresh, "spec as last asked for"}, {pid, "knows the instance"}, {synced, "Synchronized"}, {failed, "Synchronized=False"}, {caught, "caught up"},
	{detached, "detached"}, {hooked, "Poundlock's hook"}, {pauseSeen, "paused for half a minute"},
	{emptied, "its twin's namespace is being deleted"}, {untouched, "adopted untouched"}, {decided, "decided that there is no instance"},
}

func (o object) String() string {
	if !o.has(there) {
		return "none"
	}
	var out []string
	for _, b := range bitNames {
		if o.has(b.bit) {
			out = append(out, b.name)
		}
	}
	return strings.Join(out, ", ")
}
