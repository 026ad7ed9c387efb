// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/poundlock/poundlock/policies/authority"
)

// rules are the functions under proof, and switches that plant a bug. Each switch changes what the model does in the place of the reconcilers and webhooks that
// call these functions.
type rules struct {
	next     func(authority.State) authority.Step
	deletion func(authority.DeletionState) authority.DeletionStep
	gate     func(authority.Shape, bool) authority.Gate

	// stopsInTransit: the mirror does nothing while authority moves.
	stopsInTransit bool
	// authorityFirst: the mirror reads the Machine API object, which says which API is authoritative, before the Cluster API side.
	authorityFirst bool
	// announcesNothing: a move to Cluster API ends without an announcement, so that a deletion of the Cluster API object may have been stored before.
	announcesNothing bool
	// ownsFirst: the mirror makes the Machine the owner of a provider's object that is not paused, as a restore leaves it.
	ownsFirst bool
	// ownsLeaving: the mirror does so if the object is being deleted.
	ownsLeaving bool
	// strands: a Cluster API object was deleted before any controller held it. The mirror relies on the controller of that object to delete the provider's object,
	// which nobody does.
	strands bool
	// leavesInstance: the mirror releases the Cluster API object as soon as its controller's finalizer is off, and with it the provider's object, even if that
	// names an instance.
	leavesInstance bool
	// marksOnly: if a set's mirror is deleted, its Machines for which the Machine API is authoritative are only marked, and the collector still deletes them.
	marksOnly bool
	// createsOver: the request with which the mirror creates an object changes an object that somebody else has created meanwhile.
	createsOver bool
	// unlocked: Poundlock's patches carry no resourceVersion.
	unlocked bool
	// impatient: a provider that never acknowledges is taken to have paused as soon as the pause is written.
	impatient bool
	// decidesOnce: a person's decision about the instance counts for the whole move. It should count only for the wait that it answers.
	decidesOnce bool
	// staleGate: the Machine API's machine controller reads a cache, and the cache of a new process may be older than that of the last process.
	staleGate bool
	// losesOwner: the mirror takes a Machine from its set of Cluster API's once the Machine API's set has released it, even if Cluster API's set goes on or is
	// being deleted.
	losesOwner bool
	// forgetsOwner: the mirror gives no authoritative Machine back to its set after the set was recreated.
	forgetsOwner bool
	// countsBefore: the handoff lists the Machines of two sets before it reads the sets.
	countsBefore bool
	// bothBegin: when a controller puts its finalizer on, admission does not look for a twin.
	bothBegin bool
	// pauseSuffices: an object on which Cluster API has begun to work may become the mirror once it is paused.
	pauseSuffices bool
	// looksAway: authority moves although nobody looked at the namespace that the other API's objects live in.
	looksAway bool
	// wideRow: a row of authority.Grants lets a neighbour write to a mirror what the mirror has from the authoritative object.
	wideRow bool
	// rowsOutlast: a row for a phase of a move is in force until authority has moved. It should end when the writer acknowledges its pause.
	rowsOutlast bool
	// carriesNothing: the mirror does not carry over what a neighbour wrote to it.
	carriesNothing bool
	// pausesAlone: the handoff pauses only the provider's machine. It does not know of the object that the provider keeps for the instance.
	pausesAlone bool
	// asksAlone: the handoff pauses both objects of the provider, and awaits only the machine's acknowledgement.
	asksAlone bool
	// neverHooks: no Machine has Poundlock's hook. hookGoesEarly: the hook is removed as soon as the object for the instance exists.
	neverHooks, hookGoesEarly bool
	// keepsNone: the mirror creates no object for an instance.
	keepsNone bool
	// forgetsKept: the mirror releases a Machine API object although the object that is kept for its instance is still paused.
	forgetsKept bool
	// movesEarly: a Machine moves before its provider is able to see to the instance.
	movesEarly bool
	// letsForeground: admission allows the deletion in the foreground of a Machine whose provider does not know its instance.
	letsForeground bool
	// letsActingGo: the mirror releases a provider's machine although the object that is kept for its instance acts.
	letsActingGo bool
	// forgetsLabels: the handoff compares only generations, which labels do not change.
	forgetsLabels bool
	// forgetsRequests: the handoff does not look at the requests that a check has made of others.
	forgetsRequests bool
	// forgetsMarks: the handoff does not look at the Machines that a check has marked for their set.
	forgetsMarks bool
	// forgetsSwitched: the switch does not store that the object of Cluster API exists. forgetsAdopted: the handoff's adoption does not store it. forgetsReviewed:
	// the review of an adoption by others does not store it.
	forgetsSwitched, forgetsAdopted, forgetsReviewed bool
	// recordsLast: the mirror stores that the object of Cluster API exists only with its first report.
	recordsLast bool
	// deletesLoose: the mirror deletes a mirror object that lacks the sync finalizer.
	deletesLoose bool
	// takesStrangers: the mirror takes the finalizer off the object that is kept for a stranger's machine.
	takesStrangers bool
}

// actual returns the functions as they are, without a planted bug.
func actual() rules {
	return rules{next: authority.Next, deletion: authority.DeletionState.Next, gate: authority.GateOf}
}
