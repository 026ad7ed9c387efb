// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"
)

// Step is what the handoff does next, and what it reports about that step. Step is a comparable value, so that a test that walks all states can compare steps.
type Step struct {
	Action Action
	// To is the API that an Adopt or a Switch makes authoritative, and to which an Acknowledge begins a move.
	To API
	// On are the objects that the action changes, or that a Wait waits for.
	On Who
	// Drop are the objects from which a Switch removes their own API's machine finalizer before it stores the new authority.
	Drop Who
	// Cancelled reports that a Switch returns authority to the API that it came from.
	Cancelled bool
	// Reason is the CamelCase reason of the condition AuthoritySettled and of events.
	Reason string
	// Message is a sentence or two for a person: what happens or what the handoff waits for, and how to cancel the move.
	Message string
}

// Action is the kind of a step.
type Action string

// The actions, in the order of a whole move.
const (
	// Rest: Poundlock does not manage this object.
	Rest Action = "Rest"
	// Adopt stores the first status.authoritativeAPI.
	Adopt Action = "Adopt"
	// Acknowledge stores Migrating in status.authoritativeAPI, and the API that authority comes from in status.synchronizedAPI.
	Acknowledge Action = "Acknowledge"
	// Pause puts the pause annotation on Cluster API objects, and on a Machine API object whose controller obeys only that annotation (State.Blind).
	Pause Action = "Pause"
	// AddFinalizer adds to the objects that are to be authoritative the machine finalizer of their API.
	AddFinalizer Action = "AddFinalizer"
	// Switch removes the machine finalizer from the objects that are no longer authoritative, then stores the new authority. These two writes are one step because
	// Cluster API's controllers add their finalizer again even while they are paused: a step that waited until the finalizer is absent could wait for ever.
	Switch Action = "Switch"
	// Release removes the pause annotation again: from Cluster API objects, or from a Machine API object.
	Release Action = "Release"
	// Wait changes nothing: somebody else has to do something first.
	Wait Action = "Wait"
	// Settle changes nothing: spec and status agree, and the controllers of both sides have acknowledged the present authority.
	Settle Action = "Settle"
)

// Acts reports whether the action writes to anything but the condition AuthoritySettled.
func (a Action) Acts() bool { return a != Rest && a != Wait && a != Settle }

// HandsOver reports whether the step lets authority leave the API that has it. Before such a step, the caller checks whether the surroundings of the other
// API's objects (their namespace, their CRDs or their Cluster) are being deleted.
func (s Step) HandsOver() bool {
	return s.Action == Acknowledge || s.Action == Switch && !s.Cancelled
}

// Deserted reports whether a move waits for a twin that was deleted during the move. If the twin's namespace, its CRD or its Cluster is being deleted too, the
// twin is not recreated.
func (s State) Deserted(step Step) bool {
	return s.Current == Migrating && step.Reason == ReasonTwinMissing
}

// ClusterMatters reports whether the step may wait until somebody unpauses Cluster API's Cluster.
func (s State) ClusterMatters(step Step) bool {
	return step.Reason == ReasonPausedElsewhere || step.Reason == ReasonNotResumed && s.Current == ClusterAPI
}

// Who is a set of the objects that a step is about.
type Who uint8

// The members of Who.
const (
	WhoMachineAPI Who = 1 << iota
	WhoClusterAPI
	WhoInfra
	WhoMirror
	// WhoMachines are the Machines that a MachineSet owns.
	WhoMachines
	// WhoHolders are other Machines of the same instance, or other objects that a provider keeps for it.
	WhoHolders
	// WhoSurroundings are the namespace, the definitions and the Cluster that an API's objects live in.
	WhoSurroundings
	// WhoCluster is Cluster API's Cluster, which somebody has paused.
	WhoCluster
)

const everyone = WhoMachineAPI | WhoClusterAPI | WhoInfra

// Has reports whether w contains all members of other.
func (w Who) Has(other Who) bool { return w&other == other }

// Next returns the one step that follows from a state. It is the state machine of DESIGN §4, a pure and total function. The same code decides moves in both
// directions: it works with a source (the API that authority comes from) and a target (the other API), and either API may be the source.
//
// Next pauses or unpauses controllers only after they have acknowledged the last change, so that an acknowledgement is never older than the change that it is
// taken for: Next pauses only if the condition Paused is False, and unpauses only if Paused is True. Each change is written with the resourceVersion on which
// Next decided, and the acknowledgement is on the same object.
func Next(s State) Step {
	switch {
	case !s.Enabled:
		return Step{Action: Rest, Reason: ReasonDisabled,
			Message: "The feature gate MachineAPIMigration is off, or the CRD has no status.authoritativeAPI: Poundlock does nothing for this object."}
	case !s.MachineAPI.Exists:
		return Step{Action: Rest, Reason: ReasonGone, Message: "There is no Machine API object."}
	case s.Current == Unset:
		return adopt(s)
	case s.Current == Migrating:
		return move(s)
	case s.Current.Other() == Unset:
		return s.wait(ReasonUnknownAuthority, WhoMachineAPI, "status.authoritativeAPI has a value that this version of Poundlock does not support.")
	}
	return keep(s)
}

// Reasons of the condition AuthoritySettled. Two functions judge them: severityOf (reconcilers/handoff) returns the severity in the condition, and Stuck
// (cmd/kubectl-poundlock/readiness) reports whether a person must fix the reason. Neither result follows from the other. Each reason of a Wait that is Stuck
// has the severity Error or Warning. But a wait with the severity Warning may also end by itself, for example the wait for ReasonTwinMissing.
const (
	ReasonDisabled         = "MachineAPIMigrationDisabled"
	ReasonGone             = "Gone"
	ReasonUnknownAuthority = "UnknownAuthority"
	ReasonUnknownOrigin    = "UnknownOrigin"
	ReasonAdopted          = "Adopted"
	ReasonSettled          = "Settled"
	ReasonStarted          = "HandoffStarted"
	ReasonPausing          = "Pausing"
	ReasonHandingOver      = "HandingOverFinalizers"
	ReasonCompleted        = "HandoffCompleted"
	ReasonCancelled        = "HandoffCancelled"
	ReasonReleasing        = "Releasing"

	ReasonDeleting        = "DeletionInProgress"
	ReasonNotSynchronized = "NotSynchronized"
	ReasonTwinMissing     = "TwinMissing"
	ReasonCatchingUp      = "CatchingUp"
	ReasonNotProvisioned  = "MachineNotProvisioned"
	ReasonInstanceUnknown = "InstanceUnknown"
	ReasonInstanceShared  = "InstanceShared"
	ReasonInfraShared     = "InfrastructureShared"
	ReasonNotPaused       = "WaitingForPause"
	ReasonNotResumed      = "WaitingForResume"
	ReasonPausedElsewhere = "PausedElsewhere"
	ReasonUncounted       = "MachinesWithoutCounterpart"
	ReasonJudged          = "MachinesMarkedByCheck"
	ReasonRequestsOpen    = "RemediationInProgress"
	ReasonSurroundings    = "SurroundingsDeleted"
)

// ReasonInfraNotFound is the reason of the condition Synchronized if Cluster API's object refers to a provider's object that does not exist.
const ReasonInfraNotFound = "InfrastructureNotFound"

// adopt returns step 1, the Adopt of a new object. If spec.authoritativeAPI is neither set nor defaulted, Machine API is meant (converting › Authority of
// resources).
func adopt(s State) Step {
	to := s.Requested
	if to == Unset {
		to = MachineAPI
	}
	return Step{Action: Adopt, To: to, On: WhoMachineAPI, Reason: ReasonAdopted, Message: to.Text() + " is authoritative for this new object."}
}

// keep returns the step of an object whose authority is not moving. The pause of Cluster API comes first, then a request to move (steps 2 and 3), then the
// acknowledgements that are missing (step 9).
func keep(s State) Step {
	if step, ok := order(s); ok {
		return step
	}
	if s.asked() {
		return request(s)
	}
	if step, ok := unsettled(s); ok {
		return step
	}
	message := s.Current.Text() + " is authoritative; the controllers of both sides have acknowledged it."
	if s.Current == MachineAPI && !s.ClusterAPI.Exists {
		message = "Machine API is authoritative; there is no mirror in Cluster API (see Synchronized)."
	}
	return Step{Action: Settle, Reason: ReasonSettled, Message: message}
}

// order returns the Pause or Release that the stored authority requires, and whether there is one. If Machine API is authoritative, order pauses Cluster API's
// objects. It then releases a Machine API object that has the pause annotation, once no controller of Cluster API acts. If Cluster API is authoritative, order
// first pauses a Machine API object whose controller obeys only the annotation (Blind). It releases Cluster API's objects once the switch is stored, the
// Machine API's controllers have acknowledged their pause, and Cluster API's controllers have acknowledged their last pause, unless withheld, wouldRemediate or
// unseen keeps them paused.
//
// The core object (Cluster API's own, such as its Machine) is released before the provider's object or together with it, because the provider must not create
// an instance before the core's controller holds the owning object. When somebody deletes a Machine with --cascade=orphan, the garbage collector leaves the
// provider's object without an owner. The acknowledgement of such a provider's object is awaited only after the core's controller owns the object again.
//
// If the core object is being deleted and has no finalizer, nothing is released. The exception is a Machine whose instance is still to be terminated
// (InfraNamesInstance): for the termination, the mirror keeps the core object.
func order(s State) (Step, bool) {
	if s.Current == MachineAPI {
		if s.notPaused() != 0 {
			return Step{Action: Pause, On: s.notPaused(), Reason: ReasonPausing, Message: "Cluster API is paused: Machine API is authoritative."}, true
		}
		acts := s.who(ClusterAPI, func(p Party) bool { return p.Exists && !p.stands() }) != 0
		return Step{Action: Release, On: WhoMachineAPI, Reason: ReasonReleasing, Message: "Machine API is authoritative and may act."},
			s.MachineAPI.PauseRequested && !acts
	}
	if s.notPaused().Has(WhoMachineAPI) {
		return Step{Action: Pause, On: WhoMachineAPI, Reason: ReasonPausing, Message: "Machine API is paused: Cluster API is authoritative."}, true
	}
	if s.ClusterAPI.PauseRequested && !s.ClusterAPI.answered() {
		return Step{}, false
	}
	ready := s.who(ClusterAPI, func(p Party) bool { return p.PauseRequested && p.answered() })
	if !s.InfraActs && s.Infra.PauseRequested {
		ready |= WhoInfra
	}
	return Step{Action: Release, On: ready, Reason: ReasonReleasing, Message: "Cluster API is authoritative and may act."},
		ready != 0 && (!s.ClusterAPI.lost() || s.InfraNamesInstance) && s.MachineAPI.stands() && !s.withheld() && !s.wouldRemediate() && !s.unseen()
}

// answered reports whether nobody has to wait any more for the effect of the object's last pause: its controllers have acknowledged the pause, or the object is
// being deleted.
func (p Party) answered() bool { return p.Acknowledged == AcknowledgedPaused || p.Deleting }

// withheld reports whether a Cluster API MachineSet stays paused because it does not count all Machines of the Machine API's MachineSet yet: released, it would
// create another Machine for each that it does not count. A move checks this before its switch. The check is repeated after the switch because Cluster API may
// be authoritative for a MachineSet from its creation on, while that set owns Machines of the Machine API. A MachineSet that is being deleted creates none.
func (s State) withheld() bool {
	return s.Current == ClusterAPI && s.Uncounted.Has(WhoMachineAPI) && s.ClusterAPI.PauseRequested && !s.ClusterAPI.Deleting
}

// wouldRemediate reports whether a paused Cluster API MachineSet would delete a Machine once the set is released. It would if a MachineHealthCheck once marked
// the Machine as unhealthy and no longer selects it. The mirror removes that mark. A MachineSet that is being deleted deletes all its Machines anyway.
func (s State) wouldRemediate() bool {
	to := s.Requested
	if s.Current == ClusterAPI {
		to = ClusterAPI
	}
	return s.Judged && to == ClusterAPI && s.ClusterAPI.PauseRequested && !s.ClusterAPI.Deleting
}

// unseen reports whether Cluster API's objects stay paused because nothing stored says that they exist (Shape.Existed). If they were released and somebody
// deleted them while Poundlock is away, the mirror would take the Machine API object for a new one and recreate them. A switch stores that they exist. If
// Cluster API is authoritative from the creation on, the mirror's first report stores that. An object that is being deleted gets no report, and is not
// recreated.
func (s State) unseen() bool {
	return s.Unrecorded && s.Current == ClusterAPI && s.ClusterAPI.PauseRequested && !s.MachineAPI.Deleting && !s.ClusterAPI.Deleting
}

// CountMatters reports whether the next step depends on Uncounted and Judged. It does if a move is requested or under way, or if Cluster API is to be released.
func (s State) CountMatters() bool {
	return s.asked() || s.Current == Migrating || s.Current == ClusterAPI && s.ClusterAPI.PauseRequested
}

// HoldersMatter reports whether the next step depends on other Machines with the ID of the same instance. It does if a move is requested or under way, even if
// the provider's machine is gone.
func (s State) HoldersMatter() bool { return s.asked() || s.Current == Migrating }

// stands reports whether the object stands still, so that no controller acts on it: its pause was acknowledged, or the object is being deleted and its kind has
// no machine finalizer. A MachineSet that is being deleted never acknowledges a pause, and its controllers never act on it.
func (p Party) stands() bool {
	return p.Acknowledged == AcknowledgedPaused || p.Deleting && p.Finalizer == NoFinalizer
}

func (s State) asked() bool { return s.Requested.Other() == s.Current }

// request returns the step that a request to move leads to (steps 2 and 3): Acknowledge, unless the move has to wait for something (blocked).
func request(s State) Step {
	if step, ok := blocked(s); ok {
		return step
	}
	return Step{Action: Acknowledge, To: s.Requested, On: WhoMachineAPI, Reason: ReasonStarted,
		Message: fmt.Sprintf("Authority is moving from %s to %s. %s", s.Current.Text(), s.Requested.Text(), s.cancel())}
}

// blocked returns the Wait of a request that may not start a move yet, and whether there is one. request calls it before it stores Migrating; forth asks the
// same questions again afterwards. The questions have this order: first a deletion, because it ends the move; then what only a person can fix; then what comes
// by itself; last what is known only once the mirror is up to date (the instance, a failure, and which Machines the sets count).
func blocked(s State) (Step, bool) {
	to := s.Requested.Text()
	if who := s.deleting(); who != 0 {
		if s.MachineAPI.Deleting || s.Current == ClusterAPI && s.ClusterAPI.Deleting { // nothing is recreated that could move
			if s.Current == ClusterAPI && s.ClusterPaused {
				return s.waitStep(ReasonDeleting, who|WhoCluster, "The move to %s does not start: the object is being deleted. Its Cluster is paused (spec.paused), so "+
					"Cluster API's controllers do not complete the deletion: waiting until somebody unpauses the Cluster.", to), true
			}
			return s.waitStep(ReasonDeleting, who, "The move to %s does not start: the object is being deleted.", to), true
		}
		return s.wait(ReasonDeleting, who, "The move to %s does not start while the twin is being deleted.", to), true
	}
	if s.Detached && s.Current == ClusterAPI {
		return s.wait(ReasonDeleting, WhoMachineAPI,
			"The move to %s does not start: the MachineSet of this object was deleted, so the garbage collector is about to delete this object too. After a move, "+
				"the instance would be terminated with it.", to), true
	}
	if s.TargetLeaves {
		return s.wait(ReasonSurroundings, WhoSurroundings,
			"The move to %s does not start while the namespace, a CRD or the Cluster of its objects is being deleted: the objects would be deleted with it, and the "+
				"instance with them.", to), true
	}
	if s.Synchronized == "False" {
		return s.wait(ReasonNotSynchronized, WhoMirror, "The move to %s does not start while Synchronized is False.", to), true
	}
	if s.Instance == InstanceOfAnother {
		return s.wait(ReasonInfraShared, WhoInfra,
			"The move to %s does not start: the infrastructure machine to which the Cluster API Machine refers belongs to another Machine, and Machine API would "+
				"act on the instance of that other Machine. Leave both Machines as they are, or delete the other Machine with its instance.", to), true
	}
	if s.Instance == InstanceShared {
		return s.wait(ReasonInstanceShared, WhoHolders,
			"The move to %s does not start while another Machine has the same spec.providerID: two APIs would act on one instance. If the instance is not this "+
				"Machine's, correct or remove spec.providerID of this Machine. If it is, correct spec.providerID of the other Machine. To be allowed to change it, "+
				"request the migration of the other Machine too.", to), true
	}
	if s.Instance == InstanceAlsoKept {
		return s.wait(ReasonInstanceShared, WhoHolders,
			"The move to %s does not start while the provider keeps another object for the instance of this Machine: that object's controller acts on the instance, "+
				"and terminates the instance when the object is deleted.", to), true
	}
	if who := s.missing(); who != 0 {
		return s.wait(ReasonTwinMissing, who, "%s", s.awaited(who, fmt.Sprintf("The move to %s starts once Poundlock has created the twin.", to))), true
	}
	if !s.synchronized() && !s.Decided {
		return s.wait(ReasonCatchingUp, WhoMirror, "The move to %s starts once the mirror is up to date with %s.", to, s.Current.Text()), true
	}
	if step, ok := unsettled(s); ok {
		step.Message = strings.TrimSuffix(step.Message, space(s.cancel())) + fmt.Sprintf(" Only then does the move to %s start.%s", to, space(s.cancel()))
		return step, true
	}
	// A person's decision counts only for the wait that is reported, so InstanceUnknown stays reported until the mirror is up to date with the decision.
	if s.Instance == InstanceUnknown || s.Decided && !s.synchronized() {
		return s.wait(ReasonInstanceUnknown, s.machine(),
			"The move to %s waits for the ID of the instance. %s may have requested an instance, and without its ID %s would create a second one.",
			to, s.Current.Text(), to), true
	}
	if s.Instance == InstanceStarting {
		if s.Requested == MachineAPI {
			return s.wait(ReasonNotProvisioned, WhoInfra,
				"The move to Machine API starts once Cluster API reports the instance as provisioned. Until then Machine API's controllers might not find the "+
					"instance."), true
		}
		if s.Failed {
			return s.wait(ReasonNotProvisioned, WhoMachineAPI, `The move to Cluster API does not start: the phase of this Machine is "Failed", which never changes. `+
				"Delete the Machine with its instance, and create another."), true
		}
		return s.wait(ReasonNotProvisioned, WhoMachineAPI|WhoInfra,
			"The move to Cluster API starts once the Machine is past Provisioning and its infrastructure is provisioned."), true
	}
	if s.Unowned {
		return s.wait(ReasonCatchingUp, WhoMirror, "The move to %s starts once the MachineSet owns the Machine's mirror, too. "+unownedText, to), true
	}
	if s.Uncounted != 0 {
		return s.uncounted("The move to %s does not start until both MachineSets count the same Machines: otherwise a set would create or delete a Machine.",
			to), true
	}
	if s.wouldRemediate() {
		return s.wait(ReasonJudged, WhoMachines, "The move to Cluster API does not start: "+judgedText), true
	}
	if s.RequestsOpen {
		return s.wait(ReasonRequestsOpen, whoRequested(s.Current),
			"The move to %s does not start while a request of this MachineHealthCheck to remediate a Machine is open: only this check deletes the request when the "+
				"Machine is healthy again, and the check no longer does so after the move.", to), true
	}
	return Step{}, false
}

// uncounted returns the Wait until both MachineSets count the same Machines. Its message says what a person can do if a Machine does not convert. The message
// omits that if a definition is missing, or if the mirror makes no Machine API object for a Machine: nothing is wrong with these Machines then, and each is
// named elsewhere with its own remedy.
func (s State) uncounted(format string, args ...any) Step {
	if !s.Undefined && !s.Unreflected {
		format += " If a Machine does not convert, edit or delete it."
	}
	return s.wait(ReasonUncounted, WhoMachines, format, args...)
}

// unownedText is the part of messages that says why a move waits while State.Unowned is true.
const unownedText = "The set's mirror is being deleted or recreated, and until the new one owns the mirror, another MachineSet could adopt the Machine."

// judgedText is the part of messages that says what a move waits for while State.Judged is true.
const judgedText = "its MachineSet would delete a Machine that a MachineHealthCheck once marked as unhealthy and that no active check selects any more. " +
	"Poundlock removes the mark: you need not do anything."

// whoRequested returns the object whose status shows an open request for remediation: the check of the API that is authoritative.
func whoRequested(current API) Who {
	if current == ClusterAPI {
		return WhoClusterAPI
	}
	return WhoMachineAPI
}

func (s State) synchronized() bool { return s.Synchronized == "True" && s.CaughtUp }

// unsettled returns the Wait until the present authority is complete on both sides, and whether there is one. It waits for the end of a deletion, for a missing
// object of Cluster API, for acknowledgements of the present authority, or for what keeps Cluster API's objects paused (withheld, unseen, wouldRemediate).
func unsettled(s State) (Step, bool) {
	in, out := s.Current, s.Current.Other()
	if s.ends() {
		return s.waitStep(ReasonDeleting, s.goes(),
			"Cluster API is authoritative, and Poundlock recreates nothing during a deletion. The deletion ends when no finalizer is left."), true
	}
	if who := s.missing(); who != 0 && in == ClusterAPI && s.goes() == 0 {
		return s.waitStep(ReasonTwinMissing, who, "%s",
			s.awaited(who, "Cluster API is authoritative, but its object is missing: waiting until Poundlock has created it (see Synchronized).")), true
	}
	if who := s.who(out, func(p Party) bool { return p.Exists && !p.stands() }); who != 0 {
		return s.waitStep(ReasonNotPaused, who, "%s is authoritative: waiting until %s's controllers acknowledge that they are paused.", in.Text(), out.Text()), true
	}
	if who := s.who(ClusterAPI, func(p Party) bool { return p.PauseRequested && p.Acknowledged != AcknowledgedPaused }); who != 0 {
		return s.waitStep(ReasonNotPaused, who, "Cluster API is authoritative, and is unpaused once its controllers have acknowledged their last pause."), true
	}
	if s.withheld() {
		return s.uncounted("Cluster API is authoritative, but its MachineSet stays paused until the set counts each Machine of Machine API's MachineSet. " +
			"Otherwise the set would create another Machine for each one that it does not count."), true
	}
	if s.unseen() {
		return s.waitStep(ReasonCatchingUp, WhoMirror,
			"Cluster API is authoritative, and stays paused until Poundlock has reported on its object (see Synchronized)."), true
	}
	if in == ClusterAPI && s.wouldRemediate() {
		return s.wait(ReasonJudged, WhoMachines, "Cluster API is authoritative, and stays paused: "+judgedText), true
	}
	if who := s.who(in, func(p Party) bool { return p.Exists && p.Acknowledged != AcknowledgedUnpaused }); who != 0 {
		if in == ClusterAPI && s.ClusterPaused {
			return s.waitStep(ReasonPausedElsewhere, who|WhoCluster, "Cluster API is authoritative, but its Cluster is paused (spec.paused), so its "+
				"controllers leave all objects of the Cluster alone: waiting until somebody unpauses the Cluster."), true
		}
		return s.waitStep(ReasonNotResumed, who, "%s is authoritative: waiting until its controllers acknowledge that they are no longer paused.", in.Text()), true
	}
	return Step{}, false
}

// ends reports whether a deletion has come so far that Cluster API's controllers have nothing left to acknowledge: one of their objects does not exist any
// more, or the core object has lost its finalizer. It reports false while order will still release a paused object, because the deletion does not end without
// that object's controllers.
func (s State) ends() bool {
	if s.Current != ClusterAPI || s.goes() == 0 {
		return false
	}
	paused := s.who(ClusterAPI, func(p Party) bool { return p.PauseRequested }) != 0
	if paused && (!s.ClusterAPI.lost() || s.InfraNamesInstance) {
		return false
	}
	return s.missing() != 0 || s.ClusterAPI.Deleting && s.ClusterAPI.Finalizer != FinalizerPresent
}

// goes returns those of the two core objects, the Machine API's and Cluster API's, that are being deleted.
func (s State) goes() Who { return s.deleting() &^ WhoInfra }

// move returns the next step while status.authoritativeAPI is Migrating. The step leads forward to the target (forth, or over if nothing can stop the move any
// more). If the request is withdrawn or something is being deleted, it leads back to the origin (back).
func move(s State) Step {
	switch {
	case s.Origin.Other() == Unset:
		return s.waitStep(ReasonUnknownOrigin, WhoMachineAPI,
			"status.authoritativeAPI is Migrating, but status.synchronizedAPI does not name the API that was authoritative before. Poundlock does not guess. "+
				"Set status.synchronizedAPI to MachineAPI or ClusterAPI, acting as Poundlock's service account: kubectl poundlock explain UnknownOrigin has the command.")
	case s.handedOver():
		return over(s)
	case s.Requested != s.Origin.Other() || s.deleting() != 0 || s.TargetLeaves || s.Detached && s.Origin == ClusterAPI:
		return back(s)
	}
	return forth(s)
}

// forth returns the next step of a move towards its target (steps 4 to 8). blocked comes before it: only a request that blocked does not hold up is
// acknowledged, and only then is status.authoritativeAPI Migrating. forth asks the questions of blocked again after pause and running, because the source's
// controllers could change the answers until they paused.
func forth(s State) Step {
	if who := s.missing(); who != 0 {
		return s.wait(ReasonTwinMissing, who, "%s",
			s.awaited(who, "Authority is moving, but an object is missing: waiting until Poundlock has created it (see Synchronized)."))
	}
	if step, ok := pause(s); ok {
		return step
	}
	if step, ok := running(s); ok {
		return step
	}
	if s.Synchronized == "False" {
		return s.wait(ReasonNotSynchronized, WhoMirror, "%s has paused, but Poundlock cannot copy its last change to the mirror while Synchronized is False.",
			s.Origin.Text())
	}
	unknown := func() Step {
		target := s.Requested.Text()
		return s.wait(ReasonInstanceUnknown, s.machine(), "%s has paused. The move to %s waits for the ID of the instance. %s may have requested an instance, "+
			"and without its ID %s would create a second one.", s.Origin.Text(), target, s.Origin.Text(), target)
	}
	if !s.synchronized() && s.Decided { // A person's decision counts only for the wait that is reported (see blocked).
		return unknown()
	}
	if !s.synchronized() {
		return s.wait(ReasonCatchingUp, WhoMirror, "%s has paused: waiting until the mirror has its last change.", s.Origin.Text())
	}
	if s.Unprepared {
		return s.wait(ReasonCatchingUp, WhoMirror, "Machine API has paused: waiting until Poundlock has prepared Cluster API's objects. Poundlock removes the "+
			"Machine's failure and phase from the status of these objects, because Cluster API's controllers report their own, and "+
			"sets "+SparedAnnotation+" if there is no instance yet.")
	}
	if s.Unowned {
		return s.wait(ReasonCatchingUp, WhoMirror, "%s has paused: waiting until the MachineSet owns the Machine's mirror, too. "+unownedText, s.Origin.Text())
	}
	if s.Uncounted != 0 {
		return s.uncounted("%s has paused: waiting until both MachineSets count the same Machines. Otherwise the other set would create or delete a Machine.",
			s.Origin.Text())
	}
	if s.wouldRemediate() {
		return s.wait(ReasonJudged, WhoMachines, "Machine API has paused, and Cluster API stays paused: "+judgedText)
	}
	if s.RequestsOpen { // the check requested a remediation before it paused, and nobody else can withdraw the request
		return back(s)
	}
	if s.Instance == InstanceUnknown { // blocked has checked this, but the source may have requested an instance before it paused
		return unknown()
	}
	if s.Instance == InstanceOfAnother {
		return s.wait(ReasonInfraShared, WhoInfra, "Cluster API has paused: the infrastructure machine to which its Machine refers belongs to another Machine, "+
			"and Machine API would act on the instance of that other Machine. Cancel the move.")
	}
	if step, ok := remade(s); ok {
		return step
	}
	if s.Instance == InstanceShared {
		return s.wait(ReasonInstanceShared, WhoHolders,
			"%s has paused: waiting while another Machine has the same spec.providerID. Two APIs would act on one instance. Cancel the move to correct it.",
			s.Origin.Text())
	}
	if s.Instance == InstanceAlsoKept {
		return s.wait(ReasonInstanceShared, WhoHolders,
			"%s has paused: waiting while the provider keeps another object for the instance of this Machine: that object's controller acts on the instance.",
			s.Origin.Text())
	}
	return last(s)
}

// machine returns the objects that can have the ID of the instance.
func (s State) machine() Who {
	return WhoMachineAPI | s.who(ClusterAPI, func(p Party) bool { return p.Exists })
}

// pause returns step 4, which pauses Cluster API's objects or waits because they were paused before the move, and whether that step is due. The Machine API's
// controllers pause by themselves once they read Migrating.
func pause(s State) (Step, bool) {
	early := s.who(ClusterAPI, func(p Party) bool { return p.Exists && !p.PauseRequested && p.Acknowledged == AcknowledgedPaused })
	if s.Origin == ClusterAPI && early != 0 && s.ClusterPaused {
		return s.wait(ReasonPausedElsewhere, early|WhoCluster, "Cluster API was already paused before this move, because its Cluster is (spec.paused). "+
			"So a new pause cannot be detected: waiting until somebody unpauses the Cluster."), true
	}
	if s.Origin == ClusterAPI && early != 0 {
		return s.wait(ReasonPausedElsewhere, early, "Cluster API was already paused before this move, so a new pause cannot be detected: "+
			"unpause it (check Cluster.spec.paused) to continue."), true
	}
	return stop(s)
}

func stop(s State) (Step, bool) {
	return Step{Action: Pause, On: s.notPaused(), Reason: ReasonPausing, Message: "Both APIs' controllers are paused while authority moves."}, s.notPaused() != 0
}

// running returns step 5, the Wait until the source's controllers acknowledge their pause, and whether an acknowledgement is missing.
func running(s State) (Step, bool) {
	who := s.who(s.Origin, func(p Party) bool { return p.Exists && p.Acknowledged != AcknowledgedPaused })
	return s.wait(ReasonNotPaused, who, "Authority is moving: waiting until %s's controllers acknowledge that they are paused.", s.Origin.Text()), who != 0
}

// remade returns the Wait for an object of Cluster API that the mirror recreated after the request was acknowledged, and whether there is such an object. It
// applies to moves from the Machine API. The recreated object's controllers add their finalizer before they acknowledge the pause.
func remade(s State) (Step, bool) {
	if s.Origin == ClusterAPI {
		return Step{}, false
	}
	who := s.who(ClusterAPI, func(p Party) bool { return p.Exists && !p.stands() })
	return s.wait(ReasonNotPaused, who, "Machine API has paused: waiting until Cluster API's controllers acknowledge that they are paused, too."), who != 0
}

// last returns steps 7 and 8, once the source's controllers have acknowledged their pause: AddFinalizer until all objects of the target have their finalizer,
// and only then the Switch, which removes the source's finalizers.
func last(s State) Step {
	target := s.Origin.Other()
	if step, ok := running(s); ok {
		return step
	}
	if who := s.unheld(target); who != 0 {
		return Step{Action: AddFinalizer, On: who, Reason: ReasonHandingOver, Message: target.Text() + " takes over the machine finalizer."}
	}
	return Step{Action: Switch, To: target, On: WhoMachineAPI, Drop: s.held(s.Origin), Reason: ReasonCompleted,
		Message: fmt.Sprintf("Authority has moved from %s to %s.", s.Origin.Text(), target.Text())}
}

// handedOver reports whether the move can no longer go back: the source is being deleted without its finalizer, and a finalizer cannot be added to an object
// that is being deleted. The target holds its own finalizer and can clean up, so the target becomes authoritative whatever is requested.
//
// If the target lacks its finalizer, the target never got one: then the source's own controller removed the source's finalizer, because its work is done. If
// the Cluster API object has its finalizer, that proves less, because Cluster API's controllers add it to paused objects as well. So handedOver also checks
// Ended: whether a Machine API controller whose feature gate is off has ended the instance.
func (s State) handedOver() bool {
	source, target := s.core(s.Origin), s.core(s.Origin.Other())
	if s.Origin == MachineAPI && s.Ended {
		return false
	}
	return (source.lost() || s.infraLost() || s.endedByTarget()) && target.Exists && target.Finalizer != FinalizerAbsent
}

// endedByTarget reports whether, in a move to the Machine API, the Machine API's controller terminates the instance before Machine API is authoritative,
// because that controller's feature gate is off. Cluster API is paused, and must not act any more.
func (s State) endedByTarget() bool {
	return s.Origin == ClusterAPI && s.MachineAPI.Deleting && s.MachineAPI.Finalizer == FinalizerPresent && s.Ended
}

// lost reports whether the object is being deleted without the finalizer under which its controllers clean up.
func (p Party) lost() bool { return p.Deleting && p.Finalizer == FinalizerAbsent }

// infraLost reports whether, in a move to the Machine API, the provider's object is gone or is being deleted without its finalizer. Cluster API would terminate
// the instance by means of that object. The Machine API object has its own finalizer by then; it got that finalizer while Cluster API was paused.
func (s State) infraLost() bool {
	return s.InfraActs && s.Origin == ClusterAPI && s.MachineAPI.Finalizer == FinalizerPresent && (!s.Infra.Exists || s.Infra.lost())
}

// over returns the next step of a move that can no longer go back: first the pauses that are missing, then what last returns.
func over(s State) Step {
	if step, ok := stop(s); ok {
		return step
	}
	return last(s)
}

// back returns the next step of a move that is cancelled, from any point of the move: authority returns to the origin. The target was never unpaused. order
// releases a paused Cluster API object later, once its controllers have acknowledged the pause. A Machine API object has no annotation that would keep its
// pause. So back waits for the Machine API's acknowledgement before the Switch: a later acknowledgement could be taken for one of the next request.
func back(s State) Step {
	if s.Origin == MachineAPI && s.MachineAPI.Acknowledged != AcknowledgedPaused && !s.MachineAPI.Deleting && !s.Blind {
		return s.waitStep(ReasonNotPaused, WhoMachineAPI,
			"The move is cancelled: authority returns to Machine API as soon as its controllers acknowledge the pause that the move began.")
	}
	if who := s.unheld(s.Origin); who != 0 {
		return Step{Action: AddFinalizer, On: who, Reason: ReasonHandingOver, Message: s.Origin.Text() + " gets its machine finalizer back: the move is cancelled."}
	}
	return Step{Action: Switch, To: s.Origin, On: WhoMachineAPI, Drop: s.held(s.Origin.Other()) | s.endable(), Cancelled: true, Reason: ReasonCancelled,
		Message: fmt.Sprintf("The move is cancelled: %s is authoritative again.", s.Origin.Text())}
}

// unheld returns the objects of an API that lack their machine finalizer and can still get it.
func (s State) unheld(a API) Who {
	return s.who(a, func(p Party) bool { return p.Exists && p.Finalizer == FinalizerAbsent && !p.Deleting })
}

// held returns the objects of an API whose machine finalizer can be removed without completing a deletion.
func (s State) held(a API) Who {
	return s.who(a, func(p Party) bool { return p.Finalizer == FinalizerPresent && !p.Deleting })
}

// endable returns the Machine API object if a move from Cluster API is cancelled while that object is being deleted and has its machine finalizer; else 0. The
// Switch back removes this finalizer, because a controller that ignores authority would terminate the instance while Cluster API is released. The object is not
// gone at once: its sync finalizer holds it until the handoff is over.
func (s State) endable() Who {
	if m := s.MachineAPI; s.Origin == ClusterAPI && m.Deleting && m.Finalizer == FinalizerPresent && !s.Loose {
		return WhoMachineAPI
	}
	return 0
}

func (s State) deleting() Who {
	return s.where(everyone, func(p Party) bool { return p.Deleting })
}

// notPaused returns Cluster API's objects without the pause annotation. If the Machine API's controller obeys nothing but that annotation (Blind), and Machine
// API is not authoritative, notPaused includes a Machine API object without it.
func (s State) notPaused() Who {
	who := s.who(ClusterAPI, func(p Party) bool { return p.Exists && !p.PauseRequested })
	if m := s.MachineAPI; s.Blind && s.Current != MachineAPI && m.Exists && !m.PauseRequested && !m.Deleting {
		who |= WhoMachineAPI
	}
	return who
}

func (s State) missing() Who {
	return s.who(ClusterAPI, func(p Party) bool { return !p.Exists })
}

// awaited returns the message of a Wait for missing objects. If the mirror creates what is missing, that is the text byMirror. The mirror does not create the
// provider's object of a Machine for which Cluster API is authoritative. While Synchronized is False, it does not create Cluster API's own object either.
func (s State) awaited(missing Who, byMirror string) string {
	if missing == WhoInfra && s.source() == ClusterAPI {
		return "The infrastructure object of the Cluster API Machine does not exist. " + NoInfraRecreated(s.Instance != InstanceUnknown &&
			s.Instance != InstanceNotRequested)
	}
	if missing.Has(WhoClusterAPI) && s.source() == ClusterAPI && s.Synchronized == "False" {
		return "Cluster API is authoritative, but its object does not exist, and Poundlock does not create it. " +
			"The condition Synchronized has the reason and the remedy."
	}
	return byMirror
}

// core returns the core object of an API: the Machine API object, or Cluster API's.
func (s State) core(a API) Party {
	if a == MachineAPI {
		return s.MachineAPI
	}
	return s.ClusterAPI
}

// who returns the objects of an API for which applies is true.
func (s State) who(a API, applies func(Party) bool) Who {
	if a == MachineAPI {
		return s.where(WhoMachineAPI, applies)
	}
	return s.where(WhoClusterAPI|WhoInfra, applies)
}

func (s State) where(among Who, applies func(Party) bool) Who {
	var found Who
	for _, one := range []struct {
		who   Who
		party Party
		is    bool
	}{{WhoMachineAPI, s.MachineAPI, true}, {WhoClusterAPI, s.ClusterAPI, true}, {WhoInfra, s.Infra, s.InfraActs}} {
		if one.is && among.Has(one.who) && applies(one.party) {
			found |= one.who
		}
	}
	return found
}

// wait returns a Wait that a request causes. Its message ends with how to cancel the request, if there is one.
func (s State) wait(reason string, who Who, format string, args ...any) Step {
	step := s.waitStep(reason, who, format, args...)
	step.Message += space(s.cancel())
	return step
}

// waitStep returns a Wait that does not depend on a request. Its message says nothing about cancelling one.
func (s State) waitStep(reason string, who Who, format string, args ...any) Step {
	return Step{Action: Wait, On: who, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// cancel returns the sentence that says how to cancel the request to move; "" if there is no such request.
func (s State) cancel() string {
	if from := s.source(); from.Other() != Unset && s.Requested == from.Other() {
		return fmt.Sprintf("To cancel, set spec.authoritativeAPI to %s.", from)
	}
	return ""
}

func space(sentence string) string {
	if sentence == "" {
		return ""
	}
	return " " + sentence
}
