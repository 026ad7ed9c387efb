// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/poundlock/poundlock/policies/authority"
)

// rules are the functions under proof, and what the model does as the shells around them do it, for a planted bug to take its place.
type rules struct {
	next     func(authority.State) authority.Step
	deletion func(authority.DeletionState) authority.DeletionStep
	gate     func(authority.Shape, bool) authority.Gate

	// stopsInTransit: the mirror does nothing while authority moves.
	stopsInTransit bool
	// authorityFirst: the mirror reads the Machine API object, which says which API is authoritative, before the Cluster API side.
	authorityFirst bool
	// strands: the mirror takes the provider's object of a Cluster API object that was deleted before anybody held it for one that its controller will
	// see to.
	strands bool
	// leavesInstance: the mirror lets the Cluster API object go as soon as its controller's finalizer is off, and with it the provider's object, whatever instance
	// that names.
	leavesInstance bool
	// marksOnly: of a set's mirror that is deleted, a Machine for which the Machine API is authoritative is marked, and left to the collector.
	marksOnly bool
	// createsOver: what the mirror sends to make an object changes one that somebody else has made meanwhile.
	createsOver bool
	// unlocked: Poundlock's patches carry no resourceVersion.
	unlocked bool
	// impatient: a provider that never answers is taken to have paused as soon as the pause is written.
	impatient bool
	// decidesOnce: a person's decision about the instance counts for the whole move, and not for the wait that it answers.
	decidesOnce bool
	// staleGate: the Machine API's machine controller reads a cache, and that of a new process may be older than the last one's.
	staleGate bool
	// losesOwner: the mirror takes a Machine from a set of Cluster API's that goes on or is being deleted, once the Machine API's set has let it go.
	losesOwner bool
	// forgetsOwner: the mirror gives no authoritative Machine back to a set that was recreated.
	forgetsOwner bool
	// countsBefore: the handoff lists the Machines of two sets before it reads the sets.
	countsBefore bool
	// bothBegin: nobody looks for a twin when a controller puts its finalizer on.
	bothBegin bool
	// pauseSuffices: what Cluster API has begun may become the mirror once it is paused.
	pauseSuffices bool
	// looksAway: authority moves without a look at what the objects of the other API live in.
	looksAway bool
	// wideRow: a row of authority.Grants lets a neighbour write what a mirror has of its authority.
	wideRow bool
	// rowsOutlast: a row of a move lasts until authority has moved, and not until who writes acknowledges its pause.
	rowsOutlast bool
	// carriesNothing: the mirror carries nothing over that a neighbour wrote to it.
	carriesNothing bool
	// pausesAlone: the handoff does not know what a provider keeps for an instance beside its machine.
	pausesAlone bool
	// asksAlone: it pauses both, and awaits the machine's acknowledgement alone.
	asksAlone bool
	// neverHooks: no Machine has Poundlock's hook. hookGoesEarly: it goes once the object for the instance exists.
	neverHooks, hookGoesEarly bool
	// keepsNone: the mirror makes no object for an instance.
	keepsNone bool
	// forgetsKept: the mirror lets a Machine API object go although what is kept for its instance is still paused.
	forgetsKept bool
	// movesEarly: a Machine moves although its provider could not see to the instance.
	movesEarly bool
	// letsForeground: nobody refuses the deletion in the foreground of a Machine whose provider does not know its instance.
	letsForeground bool
	// letsActingGo: the mirror lets a provider's machine go although what is kept for its instance acts.
	letsActingGo bool
	// forgetsLabels: the handoff compares generations alone, which labels do not bump.
	forgetsLabels bool
	// forgetsRequests: the handoff does not look at what a check has asked others to do.
	forgetsRequests bool
	// forgetsMarks: nor at the Machines that a check has marked for their set.
	forgetsMarks bool
	// forgetsSwitched: the switch does not store that the object of Cluster API exists. forgetsAdopted: nor does the handoff's adoption, forgetsReviewed: the
	// review of an adoption by others.
	forgetsSwitched, forgetsAdopted, forgetsReviewed bool
	// recordsLast: the mirror stores that the object exists together with its first report.
	recordsLast bool
	// deletesLoose: the mirror deletes a mirror that lacks the sync finalizer.
	deletesLoose bool
	// takesStrangers: it takes the finalizer off what is kept for a stranger's machine.
	takesStrangers bool
}

// actual are the functions as they are.
func actual() rules {
	return rules{next: authority.Next, deletion: authority.DeletionState.Next, gate: authority.GateOf}
}
