// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/policies"
	. "github.com/poundlock/poundlock/policies/authority"
)

// These are parties of a Machine in the states that the cases below need.
var (
	acting     = Party{Exists: true, Acknowledged: AcknowledgedUnpaused, Finalizer: FinalizerPresent}
	standing   = Party{Exists: true, Acknowledged: AcknowledgedPaused, Finalizer: FinalizerAbsent}
	told       = Party{Exists: true, PauseRequested: true, Acknowledged: AcknowledgedUnpaused, Finalizer: FinalizerPresent}
	toldStands = Party{Exists: true, PauseRequested: true, Acknowledged: AcknowledgedPaused, Finalizer: FinalizerAbsent}
)

func held(p Party) Party     { p.Finalizer = FinalizerPresent; return p }
func silent(p Party) Party   { p.Acknowledged = NotAcknowledged; return p }
func deleting(p Party) Party { p.Deleting = true; return p }
func untold(p Party) Party   { p.PauseRequested = false; return p }
func stands(p Party) Party   { p.Acknowledged = AcknowledgedPaused; return p }

// inMachineAPI returns a settled Machine for which the Machine API is authoritative. inClusterAPI returns one for which Cluster API is.
func inMachineAPI(change ...func(*State)) State {
	return with(State{
		Enabled: true, Requested: MachineAPI, Current: MachineAPI, Origin: MachineAPI, InfraActs: true,
		MachineAPI: acting, ClusterAPI: toldStands, Infra: toldStands,
		Synchronized: metav1.ConditionTrue, CaughtUp: true, Instance: InstanceKnown,
	}, change)
}

func inClusterAPI(change ...func(*State)) State {
	return with(State{
		Enabled: true, Requested: ClusterAPI, Current: ClusterAPI, Origin: ClusterAPI, InfraActs: true,
		MachineAPI: standing, ClusterAPI: acting, Infra: acting,
		Synchronized: metav1.ConditionTrue, CaughtUp: true, Instance: InstanceKnown,
	}, change)
}

func with(s State, change []func(*State)) State {
	for _, c := range change {
		c(&s)
	}
	return s
}

func toClusterAPI(s *State) { s.Requested = ClusterAPI }
func toMachineAPI(s *State) { s.Requested = MachineAPI }
func migrating(s *State)    { s.Current = Migrating }
func unknown(s *State)      { s.Instance = InstanceUnknown }
func shared(s *State)       { s.Instance = InstanceShared }
func alsoKept(s *State)     { s.Instance = InstanceAlsoKept }
func ofAnother(s *State)    { s.Instance = InstanceOfAnother }

const everyObject = WhoMachineAPI | WhoClusterAPI | WhoInfra

func aSet(s *State) {
	s.InfraActs, s.Infra, s.MachineAPI.Finalizer = false, Party{}, NoFinalizer
}

func noInfra(s *State) { s.Infra = Party{} }

func aPausedCluster(s *State) {
	s.ClusterAPI, s.Infra, s.ClusterPaused = stands(s.ClusterAPI), stands(s.Infra), true
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		state State
		want  Step // the step without its Message
	}{
		"with the feature gate off nothing is done": {
			inMachineAPI(func(s *State) { s.Enabled = false }, toClusterAPI), Step{Action: Rest, Reason: ReasonDisabled}},
		"an object that is gone needs nothing": {
			inMachineAPI(func(s *State) { s.MachineAPI = Party{} }), Step{Action: Rest, Reason: ReasonGone}},

		// 1. Adopt
		"a new object is adopted as its spec says": {
			State{Enabled: true, Requested: ClusterAPI, MachineAPI: Party{Exists: true}}, Step{Action: Adopt, To: ClusterAPI, On: WhoMachineAPI, Reason: ReasonAdopted}},
		"a new object that says nothing is Machine API's": {
			State{Enabled: true, MachineAPI: Party{Exists: true}}, Step{Action: Adopt, To: MachineAPI, On: WhoMachineAPI, Reason: ReasonAdopted}},
		"an adopted object without a twin is settled once the Machine API acts": {
			inMachineAPI(func(s *State) { s.ClusterAPI, s.Infra = Party{}, Party{} }), Step{Action: Settle, Reason: ReasonSettled}},
		"an object made for Cluster API is not released before the Machine API stands still": {
			inClusterAPI(func(s *State) { s.MachineAPI, s.ClusterAPI, s.Infra = silent(standing), toldStands, toldStands }),
			Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonNotPaused}},

		// settled, under either API
		"authoritative and acknowledged: settled":                   {inMachineAPI(), Step{Action: Settle, Reason: ReasonSettled}},
		"authoritative and acknowledged on the other side: settled": {inClusterAPI(), Step{Action: Settle, Reason: ReasonSettled}},
		"a set is settled whatever its template is":                 {inClusterAPI(aSet), Step{Action: Settle, Reason: ReasonSettled}},
		"an unpaused mirror of the Machine API's machine is paused": {inMachineAPI(func(s *State) { s.Infra = acting }), Step{Action: Pause, On: WhoInfra, Reason: ReasonPausing}},

		"a Machine that is being deleted without its finalizer is released to terminate its instance": {
			inClusterAPI(func(s *State) {
				s.ClusterAPI, s.Infra, s.InfraNamesInstance = deleting(toldStands), held(toldStands), true
			}), Step{Action: Release, On: WhoClusterAPI | WhoInfra, Reason: ReasonReleasing}},
		"one without an instance is not": {
			inClusterAPI(func(s *State) { s.ClusterAPI, s.Infra = deleting(toldStands), toldStands }),
			Step{Action: Wait, On: WhoClusterAPI, Reason: ReasonDeleting}},

		// a deletion while Cluster API is authoritative
		"a Machine whose provider's machine is gone already is not to be restored": {
			inClusterAPI(noInfra, func(s *State) { s.ClusterAPI.Deleting = true }), Step{Action: Wait, On: WhoClusterAPI, Reason: ReasonDeleting}},
		"nor while somebody's finalizer holds its mirror": {
			inClusterAPI(noInfra, func(s *State) { s.ClusterAPI, s.MachineAPI.Deleting = deleting(stands(acting)), true }),
			Step{Action: Wait, On: WhoMachineAPI | WhoClusterAPI, Reason: ReasonDeleting}},
		"nor once Cluster API's Machine is gone, too": {
			inClusterAPI(noInfra, func(s *State) { s.ClusterAPI, s.MachineAPI.Deleting = Party{}, true }),
			Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonDeleting}},
		"nor while its mirror alone is deleted": {
			inClusterAPI(noInfra, func(s *State) { s.MachineAPI.Deleting = true }), Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonDeleting}},
		"a provider's machine that was restored too late acknowledges nothing": {
			inClusterAPI(func(s *State) {
				s.ClusterAPI, s.Infra = deleting(acting), silent(acting)
				s.ClusterAPI.Finalizer = FinalizerAbsent
			}), Step{Action: Wait, On: WhoClusterAPI, Reason: ReasonDeleting}},
		"a deletion that goes on is no news": {
			inClusterAPI(func(s *State) { s.ClusterAPI, s.Infra = deleting(acting), deleting(acting) }), Step{Action: Settle, Reason: ReasonSettled}},
		"a deletion waits for controllers that have not heard of the release": {
			inClusterAPI(func(s *State) { s.ClusterAPI = deleting(stands(acting)) }), Step{Action: Wait, On: WhoClusterAPI, Reason: ReasonNotResumed}},
		"a deletion of what is still paused waits for the Machine API's pause": {
			inClusterAPI(noInfra, func(s *State) { s.MachineAPI, s.ClusterAPI = silent(standing), deleting(told) }),
			Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonNotPaused}},
		"a set whose controllers never acknowledge its deletion": {
			inClusterAPI(aSet, func(s *State) {
				s.ClusterAPI = deleting(stands(acting))
				s.ClusterAPI.Finalizer = NoFinalizer
			}), Step{Action: Wait, On: WhoClusterAPI, Reason: ReasonDeleting}},
		"a provider's machine that is missing without a deletion is missed": {
			inClusterAPI(noInfra), Step{Action: Wait, On: WhoInfra, Reason: ReasonTwinMissing}},

		// 2. Check
		"nothing moves while the object is deleted": {
			inMachineAPI(toClusterAPI, func(s *State) { s.MachineAPI.Deleting = true }), Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonDeleting}},
		"nothing moves back while Cluster API's Machine is deleted": {
			inClusterAPI(toMachineAPI, func(s *State) { s.ClusterAPI.Deleting = true }), Step{Action: Wait, On: WhoClusterAPI, Reason: ReasonDeleting}},
		"who may end that is named while the Cluster is paused": {
			inClusterAPI(toMachineAPI, func(s *State) { s.ClusterAPI.Deleting, s.ClusterPaused = true, true }),
			Step{Action: Wait, On: WhoClusterAPI | WhoCluster, Reason: ReasonDeleting}},
		"a paused Cluster does not hold up a deletion in the Machine API": {
			inMachineAPI(toClusterAPI, func(s *State) { s.MachineAPI.Deleting, s.ClusterPaused = true, true }),
			Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonDeleting}},
		"nothing moves while the provider's machine is deleted": {
			inMachineAPI(toClusterAPI, func(s *State) { s.Infra.Deleting = true }), Step{Action: Wait, On: WhoInfra, Reason: ReasonDeleting}},
		"what does not convert does not move": {
			inMachineAPI(toClusterAPI, func(s *State) { s.Synchronized = "False" }), Step{Action: Wait, On: WhoMirror, Reason: ReasonNotSynchronized}},
		"a mirror that is behind is waited for": {
			inMachineAPI(toClusterAPI, func(s *State) { s.CaughtUp = false }), Step{Action: Wait, On: WhoMirror, Reason: ReasonCatchingUp}},
		"a mirror that has not run in this direction yet is waited for": {
			inClusterAPI(toMachineAPI, func(s *State) { s.Synchronized = "Unknown" }), Step{Action: Wait, On: WhoMirror, Reason: ReasonCatchingUp}},
		"a twin that is not there yet is waited for": {
			inMachineAPI(toClusterAPI, func(s *State) { s.ClusterAPI, s.Infra = Party{}, Party{} }),
			Step{Action: Wait, On: WhoClusterAPI | WhoInfra, Reason: ReasonTwinMissing}},
		"a Machine that is being made does not leave the Machine API": {
			inMachineAPI(toClusterAPI, func(s *State) { s.Instance = InstanceStarting }),
			Step{Action: Wait, On: WhoMachineAPI | WhoInfra, Reason: ReasonNotProvisioned}},
		"nor does one that has failed before": {
			inMachineAPI(toClusterAPI, func(s *State) { s.Instance, s.Failed = InstanceStarting, true }),
			Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonNotProvisioned}},
		"a Machine whose instance is unknown does not leave the Machine API": {
			inMachineAPI(toClusterAPI, unknown), Step{Action: Wait, On: everyObject, Reason: ReasonInstanceUnknown}},
		"nor does it leave Cluster API": {
			inClusterAPI(toMachineAPI, unknown), Step{Action: Wait, On: everyObject, Reason: ReasonInstanceUnknown}},
		"a Machine does not move while another has its instance": {
			inMachineAPI(toClusterAPI, shared), Step{Action: Wait, On: WhoHolders, Reason: ReasonInstanceShared}},
		"nor does it leave Cluster API with another's instance": {
			inClusterAPI(toMachineAPI, shared), Step{Action: Wait, On: WhoHolders, Reason: ReasonInstanceShared}},
		"nor while the provider keeps another object for its instance": {
			inMachineAPI(toClusterAPI, alsoKept), Step{Action: Wait, On: WhoHolders, Reason: ReasonInstanceShared}},
		"nor does it leave Cluster API then": {
			inClusterAPI(toMachineAPI, alsoKept), Step{Action: Wait, On: WhoHolders, Reason: ReasonInstanceShared}},
		"a Machine without a request may have another object kept for its instance": {
			inMachineAPI(alsoKept), Step{Action: Settle, Reason: ReasonSettled}},
		"another object that the provider keeps by now is waited for": {
			inMachineAPI(toClusterAPI, migrating, alsoKept, func(s *State) { s.MachineAPI = held(standing) }),
			Step{Action: Wait, On: WhoHolders, Reason: ReasonInstanceShared}},
		"nor with another's infrastructure machine": {
			inClusterAPI(toMachineAPI, ofAnother), Step{Action: Wait, On: WhoInfra, Reason: ReasonInfraShared}},
		"a Machine without a request may refer to another's infrastructure machine": {
			inClusterAPI(ofAnother), Step{Action: Settle, Reason: ReasonSettled}},
		"a Machine without a request may share its instance": {
			inClusterAPI(shared), Step{Action: Settle, Reason: ReasonSettled}},
		"a Machine for which nobody has asked for an instance moves": {
			inMachineAPI(toClusterAPI, func(s *State) { s.Instance = InstanceNotRequested }),
			Step{Action: Acknowledge, To: ClusterAPI, On: WhoMachineAPI, Reason: ReasonStarted}},
		"a Machine without a request may have an unknown instance": {
			inClusterAPI(unknown), Step{Action: Settle, Reason: ReasonSettled}},
		"a Paused=True of the source that is left over from the last move is not taken for an answer": {
			inMachineAPI(toClusterAPI, func(s *State) { s.MachineAPI = stands(s.MachineAPI) }), Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonNotResumed}},
		"the same on the way back, for the provider's machine": {
			inClusterAPI(toMachineAPI, func(s *State) { s.Infra = stands(s.Infra) }), Step{Action: Wait, On: WhoInfra, Reason: ReasonNotResumed}},
		"nothing moves back while the Cluster is paused, and it is named": {
			inClusterAPI(toMachineAPI, aPausedCluster), Step{Action: Wait, On: WhoClusterAPI | WhoInfra | WhoCluster, Reason: ReasonPausedElsewhere}},
		"what moved to a paused Cluster waits for its end": {
			inClusterAPI(aPausedCluster), Step{Action: Wait, On: WhoClusterAPI | WhoInfra | WhoCluster, Reason: ReasonPausedElsewhere}},
		"a paused Cluster is nothing to wait for while Machine API is authoritative": {
			inMachineAPI(func(s *State) { s.ClusterPaused = true }), Step{Action: Settle, Reason: ReasonSettled}},
		"a Cluster that is paused in the middle of a move back is named": {
			inClusterAPI(toMachineAPI, migrating, aPausedCluster), Step{Action: Wait, On: WhoClusterAPI | WhoInfra | WhoCluster, Reason: ReasonPausedElsewhere}},
		"a target that has not acknowledged its pause is waited for": {
			inMachineAPI(toClusterAPI, func(s *State) { s.Infra = told }), Step{Action: Wait, On: WhoInfra, Reason: ReasonNotPaused}},

		"a set does not move while one of its Machines has no counterpart": {
			inMachineAPI(toClusterAPI, aSet, func(s *State) { s.Uncounted = WhoMachineAPI }), Step{Action: Wait, On: WhoMachines, Reason: ReasonUncounted}},
		"nor back while the Machine API's set does not count one": {
			inClusterAPI(toMachineAPI, aSet, func(s *State) { s.Uncounted = WhoClusterAPI }), Step{Action: Wait, On: WhoMachines, Reason: ReasonUncounted}},
		"what the sets count does not matter while nothing moves": {
			inClusterAPI(aSet, func(s *State) { s.Uncounted = WhoClusterAPI }), Step{Action: Settle, Reason: ReasonSettled}},

		// 3. Acknowledge
		"a request that nothing stands against is acknowledged": {
			inMachineAPI(toClusterAPI), Step{Action: Acknowledge, To: ClusterAPI, On: WhoMachineAPI, Reason: ReasonStarted}},
		"a set's request is acknowledged without a provider's machine": {
			inMachineAPI(toClusterAPI, aSet), Step{Action: Acknowledge, To: ClusterAPI, On: WhoMachineAPI, Reason: ReasonStarted}},

		// 4. and 5. Pause, wait
		"the Machine API pauses itself and is waited for": {
			inMachineAPI(toClusterAPI, migrating), Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonNotPaused}},
		"Cluster API is told to pause, core and infrastructure": {
			inClusterAPI(toMachineAPI, migrating), Step{Action: Pause, On: WhoClusterAPI | WhoInfra, Reason: ReasonPausing}},
		"a crash between the two pauses is repaired": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) { s.ClusterAPI = told }), Step{Action: Pause, On: WhoInfra, Reason: ReasonPausing}},
		"the infrastructure's answer is waited for too": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) { s.ClusterAPI, s.Infra = held(toldStands), told }),
			Step{Action: Wait, On: WhoInfra, Reason: ReasonNotPaused}},
		"a pause that is older than the request is no answer to it": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) { s.Infra = stands(acting) }), Step{Action: Wait, On: WhoInfra, Reason: ReasonPausedElsewhere}},

		// 6. Catch up
		"what the source wrote last is mirrored first": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) { s.MachineAPI, s.CaughtUp = held(standing), false }),
			Step{Action: Wait, On: WhoMirror, Reason: ReasonCatchingUp}},
		"a last change that does not convert is told": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) { s.ClusterAPI, s.Infra, s.Synchronized = held(toldStands), held(toldStands), "False" }),
			Step{Action: Wait, On: WhoMirror, Reason: ReasonNotSynchronized}},

		"a Machine that was born before the pause is counted first": {
			inClusterAPI(toMachineAPI, migrating, aSet, func(s *State) { s.ClusterAPI, s.Uncounted = held(toldStands), WhoClusterAPI }),
			Step{Action: Wait, On: WhoMachines, Reason: ReasonUncounted}},
		"an instance that the source asked for before it paused is waited for": {
			inClusterAPI(toMachineAPI, migrating, unknown, func(s *State) { s.ClusterAPI, s.Infra = held(toldStands), held(toldStands) }),
			Step{Action: Wait, On: everyObject, Reason: ReasonInstanceUnknown}},
		"the same towards Cluster API": {
			inMachineAPI(toClusterAPI, migrating, unknown, func(s *State) { s.MachineAPI = held(standing) }),
			Step{Action: Wait, On: everyObject, Reason: ReasonInstanceUnknown}},
		"an instance that another Machine has by now is waited for": {
			inMachineAPI(toClusterAPI, migrating, shared, func(s *State) { s.MachineAPI = held(standing) }),
			Step{Action: Wait, On: WhoHolders, Reason: ReasonInstanceShared}},
		"an infrastructure machine that is another's by now is waited for": {
			inClusterAPI(toMachineAPI, migrating, ofAnother, func(s *State) { s.ClusterAPI, s.Infra = held(toldStands), held(toldStands) }),
			Step{Action: Wait, On: WhoInfra, Reason: ReasonInfraShared}},
		"an unknown instance does not keep a move from being cancelled": {
			inMachineAPI(migrating, unknown, func(s *State) { s.MachineAPI = held(standing) }), Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Cancelled: true,
				Reason: ReasonCancelled}},

		// 7. and 8. finalizers, Switch
		"the target's finalizers come first": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) { s.MachineAPI = held(standing) }),
			Step{Action: AddFinalizer, On: WhoClusterAPI | WhoInfra, Reason: ReasonHandingOver}},
		"then the source's go with the switch": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra = held(standing), held(toldStands), held(toldStands)
			}),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Drop: WhoMachineAPI, Reason: ReasonCompleted}},
		"a crash after the source's finalizer went is repaired": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra = standing, held(toldStands), held(toldStands)
			}),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Reason: ReasonCompleted}},
		"a set of the Machine API has no finalizer to hand over": {
			inMachineAPI(toClusterAPI, migrating, aSet, func(s *State) { s.MachineAPI.Acknowledged, s.ClusterAPI = AcknowledgedPaused, held(toldStands) }),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Reason: ReasonCompleted}},
		"the same towards the Machine API": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra = held(standing), held(toldStands), held(toldStands)
			}),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Drop: WhoClusterAPI | WhoInfra, Reason: ReasonCompleted}},

		"a move does not start where the twin is about to be deleted": {
			inMachineAPI(toClusterAPI, func(s *State) { s.TargetLeaves = true }), Step{Action: Wait, On: WhoSurroundings, Reason: ReasonSurroundings}},
		"nor end there": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra, s.TargetLeaves = held(standing), held(toldStands), held(toldStands), true
			}),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Drop: WhoClusterAPI | WhoInfra, Cancelled: true, Reason: ReasonCancelled}},

		// 9. Release
		"only now is Cluster API unpaused": {
			inClusterAPI(func(s *State) { s.ClusterAPI, s.Infra = held(toldStands), held(toldStands) }),
			Step{Action: Release, On: WhoClusterAPI | WhoInfra, Reason: ReasonReleasing}},
		"a provider's object that has answered is not released before its Machine has": {
			inClusterAPI(func(s *State) { s.ClusterAPI, s.Infra = silent(toldStands), held(toldStands) }),
			Step{Action: Wait, On: WhoClusterAPI, Reason: ReasonNotPaused}},
		"a provider's object that does not answer, since nobody owns it, keeps nobody from the Machine, whose controller owns it again": {
			inClusterAPI(func(s *State) { s.ClusterAPI, s.Infra = held(toldStands), told }), Step{Action: Release, On: WhoClusterAPI, Reason: ReasonReleasing}},
		"and is released once it has answered": {
			inClusterAPI(func(s *State) { s.Infra = told }), Step{Action: Wait, On: WhoInfra, Reason: ReasonNotPaused}},
		"the same while the Machine is being deleted": {
			inClusterAPI(func(s *State) { s.ClusterAPI, s.Infra = deleting(held(toldStands)), told }),
			Step{Action: Release, On: WhoClusterAPI, Reason: ReasonReleasing}},
		"what was released but for the last write is released wholly": {
			inClusterAPI(func(s *State) { s.ClusterAPI, s.Infra = held(toldStands), acting }), Step{Action: Release, On: WhoClusterAPI, Reason: ReasonReleasing}},
		"a Machine that is going and that nobody holds is not released": {
			inClusterAPI(func(s *State) { s.ClusterAPI, s.Infra = deleting(toldStands), held(toldStands) }),
			Step{Action: Wait, On: WhoClusterAPI, Reason: ReasonDeleting}},
		"the template that the mirror made paused is released with its set": {
			inClusterAPI(aSet, func(s *State) { s.Infra = Party{Exists: true, PauseRequested: true} }), Step{Action: Release, On: WhoInfra, Reason: ReasonReleasing}},
		"a set that was Cluster API's from the first stays paused while it does not count a Machine of the Machine API's": {
			inClusterAPI(aSet, func(s *State) { s.ClusterAPI, s.Uncounted = held(toldStands), WhoMachineAPI }),
			Step{Action: Wait, On: WhoMachines, Reason: ReasonUncounted}},
		"a set does not start for Cluster API while it would delete a Machine there by a mark of long ago": {
			inMachineAPI(toClusterAPI, aSet, func(s *State) { s.Judged = true }), Step{Action: Wait, On: WhoMachines, Reason: ReasonJudged}},
		"nor is the move completed: a check may be deleted meanwhile": {
			inMachineAPI(toClusterAPI, migrating, aSet, func(s *State) {
				s.MachineAPI.Acknowledged, s.ClusterAPI, s.Judged = AcknowledgedPaused, held(toldStands), true
			}),
			Step{Action: Wait, On: WhoMachines, Reason: ReasonJudged}},
		"nor is the set released: a check may be deleted after the switch": {
			inClusterAPI(aSet, func(s *State) { s.ClusterAPI, s.Judged = held(toldStands), true }), Step{Action: Wait, On: WhoMachines, Reason: ReasonJudged}},
		"what the source found of a Machine that has failed is gone from the target before it begins": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) {
				s.MachineAPI.Acknowledged, s.ClusterAPI, s.Infra, s.Unprepared = AcknowledgedPaused, held(toldStands), held(toldStands), true
			}),
			Step{Action: Wait, On: WhoMirror, Reason: ReasonCatchingUp}},
		"a Machine whose mirror no set owns at the moment would be adopted by another": {
			inMachineAPI(toClusterAPI, func(s *State) { s.Unowned = true }), Step{Action: Wait, On: WhoMirror, Reason: ReasonCatchingUp}},
		"the same, in mid-move": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) {
				s.MachineAPI.Acknowledged, s.ClusterAPI, s.Infra, s.Unowned = AcknowledgedPaused, held(toldStands), held(toldStands), true
			}),
			Step{Action: Wait, On: WhoMirror, Reason: ReasonCatchingUp}},
		"and back": {inClusterAPI(toMachineAPI, func(s *State) { s.Unowned = true }), Step{Action: Wait, On: WhoMirror, Reason: ReasonCatchingUp}},
		"it keeps nobody who goes back": {
			inMachineAPI(migrating, func(s *State) { s.MachineAPI.Acknowledged, s.Unprepared = AcknowledgedPaused, true }),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"a check does not start for the other API while its request is open": {
			inMachineAPI(toClusterAPI, func(s *State) { s.RequestsOpen = true }), Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonRequestsOpen}},
		"nor does a Machine leave Cluster API": {
			inClusterAPI(toMachineAPI, func(s *State) { s.RequestsOpen = true }), Step{Action: Wait, On: WhoClusterAPI, Reason: ReasonRequestsOpen}},
		"a request that was made until the source paused: back, where it can be taken back": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) { s.ClusterAPI, s.Infra, s.RequestsOpen = held(toldStands), held(toldStands), true }),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"a mirror that the collector is about to delete with its set does not become authoritative": {
			inClusterAPI(toMachineAPI, func(s *State) { s.Detached = true }), Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonDeleting}},
		"nor in mid-move": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) { s.ClusterAPI, s.Infra, s.Detached = held(toldStands), held(toldStands), true }),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"what Machine API runs is not the collector's by an old mark": {
			inMachineAPI(toClusterAPI, func(s *State) { s.Detached = true }), Step{Action: Acknowledge, To: ClusterAPI, On: WhoMachineAPI, Reason: ReasonStarted}},
		"a request keeps nobody who is asked to stay": {inMachineAPI(func(s *State) { s.RequestsOpen = true }), Step{Action: Settle, Reason: ReasonSettled}},
		"nothing stored says that it exists: it stays paused": {
			inClusterAPI(aSet, func(s *State) { s.ClusterAPI, s.Unrecorded = held(toldStands), true }), Step{Action: Wait, On: WhoMirror, Reason: ReasonCatchingUp}},
		"nor where its object is being deleted, which ends only when it acts": {
			inClusterAPI(aSet, func(s *State) { s.ClusterAPI, s.Unrecorded = deleting(held(toldStands)), true }),
			Step{Action: Release, On: WhoClusterAPI, Reason: ReasonReleasing}},
		"a set that acts is left to it": {inClusterAPI(aSet, func(s *State) { s.Judged = true }), Step{Action: Settle, Reason: ReasonSettled}},
		"a set that goes to Machine API is paused, and deletes nothing by a mark": {
			inClusterAPI(toMachineAPI, aSet, func(s *State) { s.Judged = true }), Step{Action: Acknowledge, To: MachineAPI, On: WhoMachineAPI, Reason: ReasonStarted}},
		"cancelling is not held up by a mark": {
			inMachineAPI(migrating, aSet, func(s *State) {
				s.MachineAPI.Acknowledged, s.ClusterAPI, s.Judged = AcknowledgedPaused, held(toldStands), true
			}),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Drop: WhoClusterAPI, Cancelled: true, Reason: ReasonCancelled}},
		"a set that is being deleted is released whatever is marked": {
			inClusterAPI(aSet, func(s *State) { s.ClusterAPI, s.Judged = deleting(held(toldStands)), true }),
			Step{Action: Release, On: WhoClusterAPI, Reason: ReasonReleasing}},
		"a set that counts more is released, as after a move that was cancelled": {
			inClusterAPI(aSet, func(s *State) { s.ClusterAPI, s.Uncounted = held(toldStands), WhoClusterAPI }),
			Step{Action: Release, On: WhoClusterAPI, Reason: ReasonReleasing}},
		"a set that is being deleted is released whatever it counts": {
			inClusterAPI(aSet, func(s *State) { s.ClusterAPI, s.Uncounted = deleting(held(toldStands)), WhoMachineAPI }),
			Step{Action: Release, On: WhoClusterAPI, Reason: ReasonReleasing}},
		"a template is nothing to wait for on the way back": {
			inMachineAPI(aSet, func(s *State) { s.Infra = Party{Exists: true} }), Step{Action: Settle, Reason: ReasonSettled}},
		"a pause that has not been answered is not ended, so that its answer cannot come late": {
			inClusterAPI(func(s *State) { s.ClusterAPI, s.Infra = told, told }), Step{Action: Wait, On: WhoClusterAPI | WhoInfra, Reason: ReasonNotPaused}},
		"Cluster API's acknowledgement that it acts is waited for": {
			inClusterAPI(func(s *State) { s.Infra = stands(acting) }), Step{Action: Wait, On: WhoInfra, Reason: ReasonNotResumed}},
		"a paused object that is being deleted is released at once": {
			inClusterAPI(func(s *State) { s.ClusterAPI = deleting(told) }), Step{Action: Release, On: WhoClusterAPI, Reason: ReasonReleasing}},

		// abort
		"cancelled before Cluster API was told: back at once": {
			inClusterAPI(migrating), Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"cancelled before the Machine API answered: its answer first": {
			inMachineAPI(migrating), Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonNotPaused}},
		"cancelled after it answered: back": {
			inMachineAPI(migrating, func(s *State) { s.MachineAPI = held(standing) }), Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Cancelled: true,
				Reason: ReasonCancelled}},
		"cancelled after the target's finalizers came: they go": {
			inMachineAPI(migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra = held(standing), held(toldStands), held(toldStands)
			}),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Drop: WhoClusterAPI | WhoInfra, Cancelled: true, Reason: ReasonCancelled}},
		"cancelled after the source's finalizer went: it comes back first": {
			inMachineAPI(migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra = standing, held(toldStands), held(toldStands)
			}),
			Step{Action: AddFinalizer, On: WhoMachineAPI, Reason: ReasonHandingOver}},
		"the same on the other side": {
			inClusterAPI(migrating, func(s *State) { s.MachineAPI, s.ClusterAPI, s.Infra = held(standing), toldStands, held(toldStands) }),
			Step{Action: AddFinalizer, On: WhoClusterAPI, Reason: ReasonHandingOver}},
		"cancelling is not held up by a mirror that cannot follow": {
			inClusterAPI(migrating, func(s *State) { s.Synchronized, s.CaughtUp = "False", false }),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"cancelling is not held up by Machines without a counterpart": {
			inClusterAPI(migrating, aSet, func(s *State) { s.ClusterAPI, s.Uncounted = held(toldStands), WhoClusterAPI }),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"a request that is gone from spec is cancelled": {
			inClusterAPI(migrating, func(s *State) { s.Requested = Unset }), Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Cancelled: true,
				Reason: ReasonCancelled}},

		// a deletion during a move
		"a deletion sends authority back, so that somebody can delete": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) { s.MachineAPI = deleting(s.MachineAPI) }),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"a set that is being deleted never answers and is not waited for": {
			inMachineAPI(toClusterAPI, migrating, aSet, func(s *State) { s.MachineAPI = deleting(s.MachineAPI) }),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"a source that has lost its finalizer and is being deleted cannot get it back: forth": {
			inMachineAPI(migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra = deleting(standing), held(toldStands), held(toldStands)
			}),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Reason: ReasonCompleted}},

		"a source whose own controller ends its instance in mid-move, with its feature gate off, and never answers: back, although Cluster API's has put its finalizer on its paused object": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra, s.Ended = silent(deleting(standing)), held(toldStands), held(toldStands), true
			}),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Drop: WhoClusterAPI | WhoInfra, Cancelled: true, Reason: ReasonCancelled}},
		"a target that is deleted gives its finalizer back, so that a controller with its feature gate off ends no instance of Cluster API's": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra = deleting(held(standing)), held(toldStands), held(toldStands)
			}),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Drop: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"but not where nothing else keeps it until Cluster API is released": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra, s.Loose = deleting(held(standing)), held(toldStands), held(toldStands), true
			}),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"a target whose controller ends the instance already, with its feature gate off: forth": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra, s.Ended = deleting(held(standing)), held(toldStands), held(toldStands), true
			}),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Drop: WhoClusterAPI | WhoInfra, Reason: ReasonCompleted}},
		"a target that was never given its finalizer ends nothing, whatever its phase: back": {
			inClusterAPI(toMachineAPI, migrating, func(s *State) {
				s.MachineAPI, s.ClusterAPI, s.Infra, s.Ended = deleting(standing), held(toldStands), held(toldStands), true
			}),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},
		"a source whose provider's object went when its finalizer was handed over has no way back: forth": {
			inMachineAPI(migrating, func(s *State) {
				s.Origin, s.MachineAPI, s.ClusterAPI, s.Infra = ClusterAPI, held(standing), deleting(held(toldStands)), Party{}
			}),
			Step{Action: Switch, To: MachineAPI, On: WhoMachineAPI, Reason: ReasonCompleted}},
		"a source whose provider's object went before that goes back": {
			inMachineAPI(migrating, func(s *State) {
				s.Origin, s.MachineAPI, s.ClusterAPI, s.Infra = ClusterAPI, standing, deleting(held(toldStands)), Party{}
			}),
			Step{Action: Switch, To: ClusterAPI, On: WhoMachineAPI, Cancelled: true, Reason: ReasonCancelled}},

		// what others have broken
		"Migrating from nowhere is not guessed": {
			inMachineAPI(migrating, func(s *State) { s.Origin = Unset }), Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonUnknownOrigin}},
		"a value of a later version is left alone": {
			inMachineAPI(func(s *State) { s.Current = "Both" }), Step{Action: Wait, On: WhoMachineAPI, Reason: ReasonUnknownAuthority}},
		"a target that somebody unpaused in transit is paused": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) { s.ClusterAPI = untold(toldStands) }), Step{Action: Pause, On: WhoClusterAPI, Reason: ReasonPausing}},
		"an object that vanished in transit is waited for": {
			inMachineAPI(toClusterAPI, migrating, func(s *State) { s.Infra = Party{} }), Step{Action: Wait, On: WhoInfra, Reason: ReasonTwinMissing}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Next(c.state)
			if got.Message == "" {
				t.Error("the step says nothing")
			}
			got.Message = ""
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// The mirror creates whatever is missing, except the provider's object of a Machine for which Cluster API is authoritative.
func TestWhoCreatesWhatIsMissing(t *testing.T) {
	gone := func(s *State) { s.Infra = Party{} }
	both := func(s *State) { s.ClusterAPI, s.Infra = Party{}, Party{} }
	for sentence, c := range map[string]struct {
		state   State
		creates bool
	}{
		"Cluster API's infrastructure object":                     {inClusterAPI(gone), false},
		"the same, of a Machine without an instance":              {inClusterAPI(unknown, gone), false},
		"the same, and a move is asked for":                       {inClusterAPI(toMachineAPI, gone), false},
		"the same, on its way":                                    {inClusterAPI(toMachineAPI, migrating, gone), false},
		"both of Cluster API's objects":                           {inClusterAPI(both), true},
		"the Machine API's mirror of it, and a move is asked for": {inMachineAPI(toClusterAPI, gone), true},
		"the Machine API's mirror of it, on its way":              {inMachineAPI(toClusterAPI, migrating, gone), true},
	} {
		step := Next(c.state)
		if step.Reason != ReasonTwinMissing {
			t.Errorf("%s: %s", sentence, step.Reason)
		}
		if known := c.state.Instance == InstanceKnown; !c.creates && strings.Contains(step.Message, "Restore it with its spec.providerID") != known {
			t.Errorf("%s, the instance known: %t: %s", sentence, known, step.Message)
		}
		if creates := strings.Contains(step.Message, "Poundlock has created"); creates != c.creates {
			t.Errorf("%s: %s", sentence, step.Message)
		}
	}
}

// A Failed Machine never gets past Provisioning, so nobody is advised to wait for that.
func TestAFailedMachineIsNotWaitedFor(t *testing.T) {
	for _, failed := range []bool{false, true} {
		step := Next(inMachineAPI(toClusterAPI, func(s *State) { s.Instance, s.Failed = InstanceStarting, failed }))
		if strings.Contains(step.Message, "past Provisioning") == failed || strings.Contains(step.Message, "Delete the Machine") != failed {
			t.Errorf("failed: %t: %s", failed, step.Message)
		}
	}
}

// A Machine that the mirror does not reflect may convert. The message has a sentence of its own about what to do for it.
func TestAWaitForMachinesThatAreNotReflected(t *testing.T) {
	step := Next(inMachineAPI(toClusterAPI, aSet, func(s *State) { s.Uncounted, s.Unreflected = WhoClusterAPI, true }))
	if step.Reason != ReasonUncounted || strings.Contains(step.Message, "convert") {
		t.Errorf("%s: %s", step.Reason, step.Message)
	}
	if s := (Objects{Uncounted: []policies.Uncounted{{By: policies.SideClusterAPI, Unreflected: true}}}).State(); !s.Unreflected {
		t.Error("the state does not have it")
	}
}

// If a definition is missing, the message does not advise to edit or delete a Machine.
func TestAWaitForMachinesWithoutTheirDefinition(t *testing.T) {
	for _, undefined := range []bool{false, true} {
		step := Next(inMachineAPI(toClusterAPI, aSet, func(s *State) { s.Uncounted, s.Undefined = WhoMachineAPI, undefined }))
		if step.Reason != ReasonUncounted || strings.Contains(step.Message, "delete it") == undefined {
			t.Errorf("definition missing: %t: %s: %s", undefined, step.Reason, step.Message)
		}
	}
	if s := (Objects{Uncounted: []policies.Uncounted{{By: policies.SideMachineAPI, Undefined: true}}}).State(); !s.Undefined {
		t.Error("the state does not have it")
	}
}
