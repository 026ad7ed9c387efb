// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/poundlock/poundlock/policies/authority"
)

// object is what of a stored object matters to anybody in the model; 0 is none. A view of it is the same thing, only older.
type object uint32

const (
	there object = 1 << iota
	leaving
	// syncFin is Poundlock's finalizer, ctlFin that of the object's own controller; fg and orph are the collector's, which a person's deletion
	// asks for by its propagation policy.
	syncFin
	ctlFin
	fg
	orph
	// pauseRequested is the pause annotation; acting and paused are the condition Paused, False and True.
	pauseRequested
	acting
	paused
	// mark reports that it is Poundlock's mirror.
	mark
	// owned: the provider's object has an owner reference to the Cluster API Machine that is there; dangling: to one that is gone.
	owned
	dangling
	// fresh: its spec is what a person last said to the authority. pid: it knows the instance.
	fresh
	pid
	// Of the Machine API object: spec.authoritativeAPI is ClusterAPI; Synchronized is True, or False; status.synchronizedGeneration is the source's.
	wants
	synced
	failed
	caught
	detached
	// theirs: the pause annotation is that of the object's creator, before Poundlock applied anything to it.
	theirs
	// statusAt and originAt are where status.authoritativeAPI and status.synchronizedAPI lie, as numbers of values.
	statusBit
	_
	originBit
	_
	// stopped is of views alone: the Cluster is paused as a whole.
	stopped
	// earlier, of views alone: the object is gone, and another of its name is there.
	earlier
	// leftover, of views alone: an older Poundlock has left it acting, and the controller has not seen a pause yet.
	leftover
	// pauseSeen: a pause was requested of a provider that never acknowledges, as long ago as Poundlock's patience lasts.
	pauseSeen
	// untouched: Poundlock adopted the Machine API object before its controllers could ask for an instance. decided: a person has answered, in this
	// wait, that no instance exists.
	untouched
	decided
	// hooked, on the Cluster API object: it has Poundlock's hook (authority.InstanceHookAnnotation).
	hooked
	// emptied, on the Machine API object: the namespace of its twin is being deleted, with all that is in it. That is no part of the object, and no write of it.
	emptied
)

var values = [...]authority.API{authority.Unset, authority.MachineAPI, authority.ClusterAPI, authority.Migrating}

// compared is no part of the Machine API object either: Poundlock's process remembers that the mirror found the pair equal, and what it was made from
// (authority.Edition).
const compared = earlier

// lacking, of the two APIs' objects: a neighbour has written to the other what is to be carried over, and this one has not got it yet.
const lacking = pauseSeen

// requesting, of stored checks: the check has asked somebody else to remediate a Machine, and only its own controller takes that back.
const requesting = stopped

// ungated, of the Machine API object: its controller has restarted with the feature gate off, and looks at no authority. phaseDeleting: it has begun to end the
// instance.
const (
	ungated       = leftover
	phaseDeleting = stopped
)

// recorded, of the Machine API object: status.synchronizedGeneration says, be it with 0, that the object of Cluster API, which is authoritative, existed.
// Without the deed aways nobody decides from it, and it is left out.
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

// source is authority.Source of the Machine API object.
func (o object) source() authority.API {
	return authority.Source(authority.Shape{Current: o.status(), SynchronizedAPI: o.origin()})
}

// authoritative is whose object a deletion is about, as the mirror reads it.
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
