// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/policies"
)

// InfraGenerationAnnotation is on the Machine API object while the mirror is made from Cluster API. Its value is the generation of the provider's machine from
// which the mirror was made; status.synchronizedGeneration has the generation of the core object. If the annotation is missing, the provider's machine counts
// as in step with its core object.
const InfraGenerationAnnotation = Domain + "/synchronized-infra-generation"

// CoreGenerationAnnotation is on the Machine API object while the mirror is made from a Cluster API object that was recreated: that object has a lower
// generation than status.synchronizedGeneration, which may not decrease. The value is CoreGeneration of the Cluster API object from which the mirror was made.
const CoreGenerationAnnotation = Domain + "/synchronized-core"

// CoreGeneration returns a text that identifies an object in one of its generations, of the form UID/GENERATION.
func CoreGeneration(uid types.UID, generation int64) string {
	return fmt.Sprintf("%s/%d", uid, generation)
}

// State is everything from which the handoff decides its next step. It is a small comparable value, so that a test can walk all states.
type State struct {
	// Enabled reports that the feature gate is on and the kind's CRD has the fields of authority.
	Enabled bool
	// Requested is spec.authoritativeAPI, Current status.authoritativeAPI, and Origin status.synchronizedAPI. While Current is Migrating, Origin is the API that
	// authority comes from. Origin is never inferred from Requested, because a user may set Requested back.
	Requested, Current, Origin API
	// MachineAPI is the Machine API object, ClusterAPI its twin, Infra the provider's object of the twin.
	MachineAPI, ClusterAPI, Infra Party
	// Blind reports that the Machine API's controller of this object ignores authority and acknowledges nothing: it obeys only the pause annotation.
	Blind bool
	// InfraActs reports that controllers act on the provider's object. If it is false, the handoff does not wait for Infra, and of Infra it uses only
	// PauseRequested, because the mirror creates the object paused.
	InfraActs bool
	// Synchronized is the status of the Synchronized condition; "" if there is no such condition.
	Synchronized metav1.ConditionStatus
	// CaughtUp reports that the mirror was made from the present generations of the source's objects, including the provider's object. It also reports that the
	// mirror has the source's hooks and what its provider needs to terminate the instance, and that this process has compared the pair.
	CaughtUp bool
	// Instance is what is known of the instance.
	Instance Instance
	// Failed reports that the phase of the Machine is Failed: the Machine API's controller has given up the Machine, and never changes that phase.
	Failed bool
	// InfraNamesInstance reports that the provider's object names an instance, so that its controllers can terminate it.
	InfraNamesInstance bool
	// TargetLeaves reports that the namespace, a CRD or the Cluster of the other API's objects is being deleted, and these objects with it. It is gathered before
	// a step by which authority moves to that API.
	TargetLeaves bool
	// ClusterPaused reports that Cluster API's Cluster is paused. Then Cluster API's controllers leave every object of the Cluster alone, and acknowledge no end
	// of a pause. It is gathered if ClusterMatters.
	ClusterPaused bool
	// Uncounted are the sides (WhoMachineAPI, WhoClusterAPI) whose MachineSet counts a Machine that the other side's MachineSet does not count. It is 0 for kinds
	// that own no Machines.
	Uncounted Who
	// Undefined reports that a Machine is not counted because the definition (CRD) of its kind is missing in the other API, or is being deleted.
	Undefined bool
	// Unreflected reports that a Machine is not counted because the mirror makes no Machine API object for it, even if it converts.
	Unreflected bool
	// Judged reports that the Cluster API MachineSet would delete a Machine because a MachineHealthCheck once marked the Machine as unhealthy. That check no
	// longer selects the Machine (Roster.Judged).
	Judged bool
	// Detached reports that Poundlock has detached the Machine API object from its set, but the set is still its owner: at some time the garbage collector will
	// delete the object.
	Detached bool
	// Ended reports that the Machine API's controller has seen the deletion of the Machine API object (status.phase is Deleting), and so terminates the instance.
	Ended bool
	// Loose reports that the Machine API object has no sync finalizer: if it is being deleted, it is gone as soon as its machine finalizer is removed.
	Loose bool
	// RequestsOpen reports that a MachineHealthCheck may have requested a remediation, and could not withdraw this request once the pair has moved.
	RequestsOpen bool
	// Decided reports that a person has decided, for the wait that is reported, that no instance exists (NoInstanceAnnotation).
	Decided bool
	// Unprepared reports, during a move from the Machine API, that Cluster API's objects still have what the move clears (LeftBehind), or that a Machine without
	// an instance does not yet have the annotation that spares it from its checks (Spares).
	Unprepared bool
	// Unowned reports, for a Machine that is to move, that the MachineSet of the other API does not own its mirror at present (Objects.unowned).
	Unowned bool
	// Unrecorded reports that nothing stored says that the authoritative API's object has existed (Shape.Existed).
	Unrecorded bool
}

// Party is the state of one of the two or three objects of a pair that move together. The zero Party stands for an object that does not exist.
type Party struct {
	Exists, Deleting bool
	// PauseRequested reports that the object carries the pause annotation. The Machine API's controllers read status.authoritativeAPI instead. The exception is a
	// kind whose controller obeys the annotation (Kind.ObeysAnnotation): there PauseRequested reports that the annotation has Poundlock's value.
	PauseRequested bool
	Acknowledged   AcknowledgedState
	Finalizer      FinalizerState
}

// AcknowledgedState is what an object's controllers have last acknowledged in its Paused condition.
type AcknowledgedState uint8

// The states. NotAcknowledged means that the object has no Paused condition, or that the condition's status is Unknown.
const (
	NotAcknowledged AcknowledgedState = iota
	AcknowledgedUnpaused
	AcknowledgedPaused
)

// FinalizerState is whether an object carries the finalizer under which its controllers clean up before the object is gone.
type FinalizerState uint8

// The states. NoFinalizer means that objects of this kind never have such a finalizer.
const (
	NoFinalizer FinalizerState = iota
	FinalizerAbsent
	FinalizerPresent
)

// Objects are the objects that a State is made from; nil is absent.
type Objects struct {
	Kind                          Kind
	MachineAPI, ClusterAPI, Infra *policies.Object
	// InfraFinalizer is the finalizer under which the provider's controllers clean up; "" if they have none.
	InfraFinalizer string
	// InfraPausedLately reports that the provider's object was paused so recently that an earlier reconciliation by its controller may still run. It matters with
	// providers that never acknowledge a pause (ByPatience).
	InfraPausedLately bool
	// InfraInstance is the object that the provider keeps for the instance, beside Infra (InfraInstanceKind).
	InfraInstance *policies.Object
	// InstancesUnserved reports that the API server does not serve the kind of InfraInstance: the installed version of the provider keeps no such objects.
	InstancesUnserved bool
	// InfraInstancePausedLately reports for InfraInstance what InfraPausedLately reports for Infra.
	InfraInstancePausedLately bool
	// MachineAPIPausedLately reports for MachineAPI what InfraPausedLately reports for Infra. It matters with a controller that is Blind.
	MachineAPIPausedLately bool
	// Uncompared reports that the mirror has not compared the pair since this process started: the condition Synchronized may have been written by an older
	// release.
	Uncompared bool
	// Uncounted is what Roster.Uncounted returns, gathered if State.CountMatters.
	Uncounted []policies.Uncounted
	// Judged is what Roster.Judged returns, gathered together with Uncounted.
	Judged []string
	// Checks are Cluster API's MachineHealthChecks, gathered for a Machine if RequestedElsewhere.
	Checks []*policies.Object
	// Leaving is a sentence that names what is being deleted of the surroundings of the other API's objects (namespace, CRDs, Cluster); "" if nothing is. It is
	// gathered if Step.HandsOver or State.Deserted.
	Leaving string
	// Cluster is the Cluster to which ClusterAPI belongs, gathered if State.ClusterMatters.
	Cluster *policies.Object
	// Holders are the names of other Machines with the ID of the pair's instance, gathered if State.HoldersMatter. AlsoKept are the objects, as a kind and a name,
	// that a provider keeps for this instance and that are not the pair's.
	Holders, AlsoKept []string
	// Sets are the MachineSets of both APIs with the name of the set that owns the Machine (OwningSetOf), gathered if State.HoldersMatter.
	Sets    map[API]*policies.Object
	Enabled bool
}

// InfraActs reports whether controllers act on a cloud for the kind's infrastructure object: it is true for an infrastructure machine and false for a template.
// A template is only read (its controller, if there is one, reports its size to the autoscaler). So the handoff does not wait for a template's acknowledgement,
// and releases a template together with its set only because the mirror creates the template paused.
func (k Kind) InfraActs() bool { return k.Infra == InfraMachine }

// State returns the State that the handoff decides from, as the objects show it.
func (o Objects) State() State {
	o = o.own()
	shape := Read(o.MachineAPI)
	s := State{
		Enabled:   o.Enabled,
		Requested: shape.Requested, Current: shape.Current, Origin: shape.SynchronizedAPI,
		ClusterAPI:   party(o.ClusterAPI, Paused(o.ClusterAPI), o.Kind.ClusterAPIFinalizer),
		Synchronized: shape.Condition(ConditionSynchronized).Status,
		InfraActs:    o.Kind.InfraActs(),
		TargetLeaves: o.Leaving != "", ClusterPaused: PausesAll(o.Cluster),
		Judged:      len(o.Judged) > 0,
		Undefined:   slices.ContainsFunc(o.Uncounted, func(u policies.Uncounted) bool { return u.Undefined }),
		Unreflected: slices.ContainsFunc(o.Uncounted, func(u policies.Uncounted) bool { return u.Unreflected }),
		Failed:      shape.Phase == "Failed",
		Ended:       shape.Phase == "Deleting",
		Loose:       !o.MachineAPI.HasFinalizer(SyncFinalizer),
		Detached:    o.MachineAPI.HasAnnotation(DetachedAnnotation) && OwningSet(o.MachineAPI, policies.SideMachineAPI) != "",
	}
	s.MachineAPI, s.Blind = o.machineAPIParty(shape)
	s.Instance = o.instance(s.source(), shape)
	without := o.withoutInfra(s)
	if without && o.InfraInstance == nil {
		s.InfraActs = false
	}
	if o.refusedBefore(without) {
		s.Synchronized = "Unknown"
	}
	for _, u := range o.Uncounted {
		if u.By == policies.SideMachineAPI {
			s.Uncounted |= WhoMachineAPI
		} else {
			s.Uncounted |= WhoClusterAPI
		}
	}
	switch {
	case s.InfraActs && without:
		s.Infra = o.leftForInstance()
	case s.InfraActs:
		s.Infra = party(o.Infra, Condition{}, o.InfraFinalizer)
		s.Infra.Acknowledged = infraAcknowledged(o.Infra, o.InfraPausedLately)
		s.Infra = o.withInfraInstance(s.Infra, s.Current)
		s.InfraNamesInstance = providerID(o.Infra) != ""
	case o.Infra.HasAnnotation(MirrorAnnotation) && !o.borrowed():
		s.Infra = Party{Exists: true, PauseRequested: o.Infra.HasAnnotation(PausedAnnotation)}
	}
	s.RequestsOpen = o.requestsOpen(s.source())
	s.Decided = s.Instance == InstanceNotRequested && o.decided(shape)
	s.Unrecorded = !shape.Existed()
	s.Unowned = o.unowned(s.source())
	s.Unprepared = s.Current == Migrating && s.Origin == MachineAPI && o.unprepared(shape)
	s.CaughtUp = o.caughtUp(s.source(), shape) && o.hooksCarried(s.source()) && (s.source() != MachineAPI || o.instanceKept()) && !o.Uncompared
	return s
}

// Foresee returns the State as it will be once the mirror has looked at a request to move. It is for a caller who asks, before a request is made, what the
// request would lead to: the mirror looks at a request only afterwards.
func (o Objects) Foresee() State {
	s := o.State()
	if o.refusedBefore(o.withoutInfra(s)) {
		s.Synchronized, s.CaughtUp = "True", true
	}
	return s
}

// refusedBefore reports whether the mirror has yet to look at a request for a move that needs no infrastructure machine. That is so if the flag "without" (the
// result of withoutInfra) is true and the mirror still reports that the infrastructure machine does not exist. Once the mirror has looked at the request, it
// updates the Machine API object without that machine.
func (o Objects) refusedBefore(without bool) bool {
	return without && Read(o.MachineAPI).Condition(ConditionSynchronized).Reason == ReasonInfraNotFound
}

func party(o *policies.Object, paused Condition, finalizer string) Party {
	if o == nil {
		return Party{}
	}
	return Party{
		Exists: true, Deleting: o.Deleting(), PauseRequested: o.HasAnnotation(PausedAnnotation),
		Acknowledged: answer(paused.Status), Finalizer: hold(o, finalizer),
	}
}

// machineAPIParty returns the Party of the Machine API object, and whether the object's controller is Blind. The controller is Blind if the kind obeys the
// pause annotation and the object has no Paused condition that is True or False.
func (o Objects) machineAPIParty(shape Shape) (p Party, blind bool) {
	p = party(o.MachineAPI, shape.Condition(ConditionPaused), o.Kind.MachineAPIFinalizer)
	p.PauseRequested = p.Exists && o.Kind.ObeysAnnotation && PausesCheck(o.MachineAPI)
	if !p.Exists || !o.Kind.ObeysAnnotation || p.Acknowledged != NotAcknowledged {
		return p, false
	}
	switch {
	case !p.PauseRequested:
		p.Acknowledged = AcknowledgedUnpaused
	case !o.MachineAPIPausedLately:
		p.Acknowledged = AcknowledgedPaused
	}
	return p, true
}

// PausesCheck reports whether a Machine API object carries the pause annotation with Poundlock's value. Any other value is a person's own pause.
func PausesCheck(o *policies.Object) bool {
	return o.HasAnnotation(PausedAnnotation) && o.Metadata.Annotations[PausedAnnotation] == PausedByPoundlock
}

func answer(s metav1.ConditionStatus) AcknowledgedState {
	switch s {
	case metav1.ConditionTrue:
		return AcknowledgedPaused
	case metav1.ConditionFalse:
		return AcknowledgedUnpaused
	}
	return NotAcknowledged
}

func hold(o *policies.Object, finalizer string) FinalizerState {
	switch {
	case finalizer == "":
		return NoFinalizer
	case o.HasFinalizer(finalizer):
		return FinalizerPresent
	}
	return FinalizerAbsent
}

// source returns the API from which the mirror is made: during a move the origin, else the authoritative API.
func (s State) source() API {
	if s.Current == Migrating {
		return s.Origin
	}
	return s.Current
}

func (o Objects) caughtUp(source API, shape Shape) bool {
	switch {
	case source == MachineAPI && o.MachineAPI != nil:
		return shape.SynchronizedGeneration == o.MachineAPI.Metadata.Generation
	case source == ClusterAPI && o.ClusterAPI != nil:
		return o.coreCaughtUp(shape) && o.infraCaughtUp()
	}
	return false
}

func (o Objects) coreCaughtUp(shape Shape) bool {
	core := o.ClusterAPI.Metadata
	return shape.MadeFrom(o.MachineAPI.Metadata.Annotations, core.UID, core.Generation)
}

// MadeFrom reports whether the Machine API's mirror, which has these annotations, was made from the Cluster API object of this UID in this generation. A
// recreated object starts at generation 1 and status.synchronizedGeneration may not decrease, so for a lower generation CoreGenerationAnnotation decides.
func (s Shape) MadeFrom(annotations map[string]string, uid types.UID, generation int64) bool {
	if s.SynchronizedGeneration <= generation {
		return s.SynchronizedGeneration == generation
	}
	return annotations[CoreGenerationAnnotation] == CoreGeneration(uid, generation)
}

func (o Objects) infraCaughtUp() bool {
	recorded, ok := o.MachineAPI.Metadata.Annotations[InfraGenerationAnnotation]
	if !ok || !o.Kind.InfraActs() || o.Infra == nil {
		return true
	}
	return recorded == strconv.FormatInt(o.Infra.Metadata.Generation, 10)
}

// borrowed reports whether a set refers to a template that is the mirror of another set's template. The handoff of this set then leaves the template's pause to
// the handoff of the other set. No controller acts on a template, and the two handoffs would overwrite each other's pause.
func (o Objects) borrowed() bool {
	return o.MachineAPI != nil && o.Infra.Metadata.Annotations[MirrorAnnotation] != o.Kind.Name+"/"+o.MachineAPI.Metadata.Name
}
