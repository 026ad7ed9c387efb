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

// InfraGenerationAnnotation is on the Machine API object while Cluster API is the origin of the mirror. Its value is the generation of the provider's
// machine that the mirror was made from, as status.synchronizedGeneration is for the core object. Where the mirror has not written it, the provider's
// machine counts as in step with its core object.
const InfraGenerationAnnotation = Domain + "/synchronized-infra-generation"

// CoreGenerationAnnotation is on the Machine API object while Cluster API is the origin of the mirror and its object was recreated: it has a lower
// generation than status.synchronizedGeneration, which may not decrease. The value is CoreGeneration of what the mirror was made from.
const CoreGenerationAnnotation = Domain + "/synchronized-core"

// CoreGeneration identifies an object in one of its generations.
func CoreGeneration(uid types.UID, generation int64) string {
	return fmt.Sprintf("%s/%d", uid, generation)
}

// State is everything that the handoff decides from. It is a small comparable value, so that a test can walk all of it.
type State struct {
	// Enabled reports that the feature gate is on and the kind's CRD has the fields of authority.
	Enabled bool
	// Requested is spec.authoritativeAPI, Current status.authoritativeAPI, Origin status.synchronizedAPI: where authority
	// came from while Current is Migrating. It is never inferred from Requested, which a user may set back.
	Requested, Current, Origin API
	// MachineAPI is the Machine API object, ClusterAPI its twin, Infra the provider's object of the twin.
	MachineAPI, ClusterAPI, Infra Party
	// Blind reports that the Machine API's controller of this object ignores authority and acknowledges nothing. It obeys the pause annotation alone.
	Blind bool
	// InfraActs reports that controllers act on the provider's object. Otherwise Infra is no party, and only its pause matters, with which the mirror creates
	// it.
	InfraActs bool
	// Synchronized is the status of the Synchronized condition, "" where there is none.
	Synchronized metav1.ConditionStatus
	// CaughtUp reports that the mirror was made from the origin's present generations, the provider's object's included, that it has its hooks and what its
	// provider needs to terminate the instance, and that this release has compared it.
	CaughtUp bool
	// Instance is what is known of the instance.
	Instance Instance
	// Failed reports that the Machine API's controller has given the Machine up. It never takes that back.
	Failed bool
	// InfraNamesInstance reports that the provider's object names an instance, so that its controllers can terminate it.
	InfraNamesInstance bool
	// TargetLeaves reports that surroundings of the other API's objects are being deleted, and the objects with them. It is gathered before authority goes
	// there.
	TargetLeaves bool
	// ClusterPaused reports that Cluster API's Cluster is paused. Its controllers then leave every object of the Cluster alone, and unpause none. It is gathered
	// where ClusterMatters.
	ClusterPaused bool
	// Uncounted are the sides (WhoMachineAPI, WhoClusterAPI) whose MachineSet counts a Machine that the other does not. 0 for kinds that own none.
	Uncounted Who
	// Undefined reports that a Machine is not counted because the definition of its kind is missing in the other API, or is being deleted.
	Undefined bool
	// Unreflected reports that a Machine is not counted although it may convert: the mirror makes no Machine API object for it.
	Unreflected bool
	// Judged reports that the Cluster API set would delete a Machine because of the mark of a check that no longer selects it (Roster.Judged).
	Judged bool
	// Detached reports that the Machine API object was detached from its set, which still owns it: the garbage collector will delete it at some time.
	Detached bool
	// Ended reports that the Machine API's controller has seen the deletion of its object, and so terminates the instance itself.
	Ended bool
	// Loose reports that the Machine API object has no sync finalizer: once it is being deleted, it is gone when its machine finalizer is removed.
	Loose bool
	// RequestsOpen reports that a check may have asked for a remediation that it could not withdraw once this pair has moved.
	RequestsOpen bool
	// Decided reports that a person has answered the reported wait for the instance: no instance exists.
	Decided bool
	// Unprepared reports, during a move from the Machine API, that Cluster API's objects still have what the move clears (LeftBehind), or that a Machine
	// without an instance is not yet spared from its checks (Spares).
	Unprepared bool
	// Unrecorded reports that nothing stored says that the object of the authoritative API existed (Shape.Existed).
	Unrecorded bool
}

// Party is one of the two or three objects that move together. The zero Party is absent.
type Party struct {
	Exists, Deleting bool
	// PauseRequested reports that the object carries the pause annotation. The Machine API's controllers read status.authoritativeAPI instead, except for a
	// kind that obeys the annotation: there it means Poundlock's value.
	PauseRequested bool
	Acknowledged   AcknowledgedState
	Finalizer      FinalizerState
}

// AcknowledgedState is the last acknowledgement of an object's controllers, in its Paused condition.
type AcknowledgedState uint8

// The states. NotAcknowledged: there is no condition, or it is Unknown.
const (
	NotAcknowledged AcknowledgedState = iota
	AcknowledgedUnpaused
	AcknowledgedPaused
)

// FinalizerState is whether an object carries the finalizer under which its controllers promise to clean up.
type FinalizerState uint8

// The states. NoFinalizer: the kind has no such finalizer.
const (
	NoFinalizer FinalizerState = iota
	FinalizerAbsent
	FinalizerPresent
)

// Objects are the objects that a State is made from; nil is absent.
type Objects struct {
	Kind                          Kind
	MachineAPI, ClusterAPI, Infra *policies.Object
	// InfraFinalizer is the finalizer under which the provider's controllers clean up, "" where they have none.
	InfraFinalizer string
	// InfraPausedLately reports that the provider's object was paused so lately that an earlier pass of its controller may still run. It
	// matters with providers that never answer (ByPatience).
	InfraPausedLately bool
	// InfraInstance is what the provider keeps for the instance beside Infra (InfraInstanceKind).
	InfraInstance *policies.Object
	// InstancesUnserved reports that the API server does not have the kind of InfraInstance: this provider's version keeps none.
	InstancesUnserved bool
	// InfraInstancePausedLately is InfraPausedLately of InfraInstance.
	InfraInstancePausedLately bool
	// MachineAPIPausedLately reports the same of the Machine API object. It matters with a Blind controller.
	MachineAPIPausedLately bool
	// Uncompared reports that the mirror has not compared the pair since this process began: the condition Synchronized may be an older release's.
	Uncompared bool
	// Uncounted is what Roster.Uncounted lists, gathered where State.CountMatters.
	Uncounted []policies.Uncounted
	// Judged is what Roster.Judged lists, gathered together with Uncounted.
	Judged []string
	// Checks are Cluster API's checks, gathered for a Machine where RequestedElsewhere.
	Checks []*policies.Object
	// Leaving names the surroundings of the other API that are being deleted, in a sentence; "" for none. It is gathered where Step.HandsOver or
	// State.Deserted.
	Leaving string
	// Cluster is the Cluster of ClusterAPI, gathered where State.ClusterMatters.
	Cluster *policies.Object
	// Holders are the names of other Machines with the same ID, gathered where State.HoldersMatter. AlsoKept are the objects, as a kind and a name, that a
	// provider keeps for that ID and that are not the pair's.
	Holders, AlsoKept []string
	Enabled           bool
}

// InfraActs reports whether controllers act on a cloud for the kind's infrastructure object. They do for a machine. A template is only read (its
// controller, where there is one, reports its size to the autoscaler), so it is no party to a handoff: nobody waits for its acknowledgement, and it is
// released with its set only because the mirror creates it paused.
func (k Kind) InfraActs() bool { return k.Infra == InfraMachine }

// State reads the objects.
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
	s.Unprepared = s.Current == Migrating && s.Origin == MachineAPI && o.unprepared(shape)
	s.CaughtUp = o.caughtUp(s.source(), shape) && o.hooksCarried(s.source()) && (s.source() != MachineAPI || o.instanceKept()) && !o.Uncompared
	return s
}

// Foresee is the State once the mirror has looked at what is requested. It matters to a caller who asks beforehand: the mirror looks at a request only after it
// was made.
func (o Objects) Foresee() State {
	s := o.State()
	if o.refusedBefore(o.withoutInfra(s)) {
		s.Synchronized, s.CaughtUp = "True", true
	}
	return s
}

// refusedBefore reports that the mirror has yet to look at a request, since it reports that the provider's machine does not exist, without which it makes the
// Machine API object equal for a move that needs no such object.
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

// machineAPIParty is the Machine API object, and whether its controller is blind: so is that of a kind that obeys the annotation, where there is no
// condition Paused.
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

// source is the API that the mirror is made from.
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

// MadeFrom reports whether the Machine API's mirror, which has these annotations, was made from Cluster API's object in its present generation. A recreated
// object starts at generation 1, and status.synchronizedGeneration may not decrease.
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

// borrowed reports whether a set refers to the template that mirrors another one. Its pause is that one's: no controller acts on a template, and the two pairs
// would write against each other.
func (o Objects) borrowed() bool {
	return o.MachineAPI != nil && o.Infra.Metadata.Annotations[MirrorAnnotation] != o.Kind.Name+"/"+o.MachineAPI.Metadata.Name
}
