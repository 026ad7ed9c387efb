// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/jsonmembers"
	"github.com/poundlock/poundlock/policies"
)

// Names that Poundlock shares with the two APIs, or writes on their objects.
const (
	// SyncFinalizer is Poundlock's finalizer on every object that has a twin. The twin is the object of the same name in the other API (converting › Deletion of
	// Machines).
	SyncFinalizer = "sync.machine.openshift.io/finalizer"
	// MachineAPIMachineFinalizer is the finalizer of the Machine API's machine controller. The controller adds the finalizer to a Machine before it calls a cloud
	// for that Machine.
	MachineAPIMachineFinalizer = machinev1beta1.MachineFinalizer
	// PausedAnnotation pauses a Cluster API object, whatever the annotation's value.
	PausedAnnotation = clusterv1.PausedAnnotation
	// PausedByPoundlock is the value of PausedAnnotation that Poundlock writes. Poundlock sets the annotation on a Machine API object whose controller obeys the
	// annotation and ignores authority (Kind.ObeysAnnotation). A user who pauses a health check for an upgrade writes another value (PausesCheck).
	PausedByPoundlock = "poundlock.openshift.io"
	// Domain is the domain in the names of Poundlock's own labels and annotations.
	Domain = "poundlock.openshift.io"
	// MirrorAnnotation marks a Cluster API or infrastructure object that Poundlock made as a mirror. The value is the kind and name (Kind/name) of the Machine API
	// object that the mirror copies.
	MirrorAnnotation = Domain + "/mirror-of"
	// ReplacedAnnotation marks a provider's machine that Poundlock deletes and then recreates. Poundlock does that if the provider's machine has to become equal
	// to its source, and the API server refuses to change it.
	ReplacedAnnotation = Domain + "/replaced"
	// LastAppliedAnnotation is written by every `kubectl apply`.
	LastAppliedAnnotation = corev1.LastAppliedConfigAnnotation
	// AutoscalerManager is the field manager of the cluster autoscaler's writes.
	AutoscalerManager = "cluster-autoscaler"
	// ReasonForeignTwin is the reason of Synchronized=False while an object that Poundlock did not make has the name of the mirror (see type Foreign).
	ReasonForeignTwin = "ForeignTwin"
	// ReasonFieldsNotConvertible: a field of the object cannot be expressed in the other API.
	ReasonFieldsNotConvertible = "FieldsNotConvertible"
	// ReasonWouldBeAdopted is the reason of Synchronized=False while the deletion of a MachineSet waits. It waits because another set would adopt the Machines
	// that the deletion leaves behind.
	ReasonWouldBeAdopted = "WouldBeAdopted"
	// ReasonSetIsFull is the reason of Synchronized=False of a Machine whose mirror Poundlock does not recreate, because Cluster API's MachineSet has replaced it,
	// and would delete one of its Machines.
	ReasonSetIsFull = "MachineSetIsFull"
	// BesideForeignAnnotation marks a Machine API object while a foreign object has the mirror's name (ReasonForeignTwin). A Machine has the annotation until the
	// Machine API's controllers begin to act on it. A MachineSet has it if it was created at the same time as Cluster API's set of that name. Poundlock removes
	// the annotation when no foreign object has the name any more. The condition Synchronized would not be enough: while Poundlock is away, the Machine API's
	// controllers replace the whole list of conditions.
	BesideForeignAnnotation = Domain + "/beside-foreign"
	// ConditionSynchronized is the condition of a Machine API object that reports whether the mirror equals the authoritative object.
	ConditionSynchronized = "Synchronized"
	// ReasonAuthorityChanged is the reason of Synchronized=Unknown after a move, until Poundlock has mirrored once in the new direction.
	ReasonAuthorityChanged = "AuthorityChanged"
	// ConditionMirrored is False on a Cluster API MachineSet whose Machine API MachineSet was deleted while Cluster API was authoritative.
	ConditionMirrored = "MirroredInMachineAPI"
	// ConditionPaused is the condition by which each API's controllers acknowledge that they leave the object alone (True) or act on it again (False).
	ConditionPaused = "Paused"
)

// API is a value of authoritativeAPI.
type API string

// The values of status.authoritativeAPI. spec.authoritativeAPI and status.synchronizedAPI, if set, have only the values MachineAPI and ClusterAPI.
const (
	Unset      API = ""
	MachineAPI API = "MachineAPI"
	ClusterAPI API = "ClusterAPI"
	Migrating  API = "Migrating"
)

// Other returns the opposite API. It returns Unset for Unset and Migrating, which have no opposite.
func (a API) Other() API {
	switch a {
	case MachineAPI:
		return ClusterAPI
	case ClusterAPI:
		return MachineAPI
	}
	return Unset
}

// Text returns the API's name as it is written in messages for people.
func (a API) Text() string {
	switch a {
	case MachineAPI:
		return "Machine API"
	case ClusterAPI:
		return "Cluster API"
	}
	return string(a)
}

// Shape has the authority fields of a Machine API object of any kind. All code reads a Machine API object's authority through this type.
type Shape struct {
	// Requested is spec.authoritativeAPI.
	Requested API
	// Current is status.authoritativeAPI.
	Current API
	// SynchronizedAPI is status.synchronizedAPI: the last value of Current that was not Migrating.
	SynchronizedAPI API
	// SynchronizedGeneration is status.synchronizedGeneration: the generation of the authoritative object from which the mirror was made.
	SynchronizedGeneration int64
	// Recorded reports that status.synchronizedGeneration is stored, even if its value is 0 (see Existed).
	Recorded bool
	// Phase is status.phase of a Machine.
	Phase string
	// ErrorReason is status.errorReason of a Machine.
	ErrorReason string
	// Replicas is status.replicas of a MachineSet.
	Replicas   int64
	Conditions []Condition
}

// Condition has the fields that the conditions of both APIs have in common.
type Condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitzero"`
}

// Condition returns the condition of a type. It returns the zero value if there is none.
func (s Shape) Condition(kind string) Condition { return find(s.Conditions, kind) }

func find(cs []Condition, kind string) Condition {
	for _, c := range cs {
		if c.Type == kind {
			return c
		}
	}
	return Condition{}
}

// Existed reports whether the object of the authoritative API is known to have existed. It is known if status.synchronizedGeneration is stored. A switch or an
// adoption stores 0 there together with the new authority, and the 0 stays until Poundlock has mirrored once in the new direction. An older release did not
// store the 0, but stored the condition Synchronized with ReasonAuthorityChanged. So this condition counts too.
func (s Shape) Existed() bool {
	return s.Recorded || s.SynchronizedGeneration != 0 || s.Condition(ConditionSynchronized).Reason == ReasonAuthorityChanged
}

// Read returns the Shape of a Machine API object. For an absent object, or for one whose spec and status cannot be read, it returns the zero Shape. All callers
// that read the same object share the returned Conditions.
func Read(o *policies.Object) Shape {
	if o == nil {
		return Shape{}
	}
	return policies.Reading(o, read)
}

func read(o *policies.Object) Shape {
	var s Shape
	// The API server checks the types against the CRD's schema. If it does not (no CRD validation), a field of another type is read as absent.
	_ = jsonmembers.EachChecked(orEmpty(o.Spec), func(name, value []byte) error {
		if string(name) == "authoritativeAPI" {
			_ = json.Unmarshal(value, &s.Requested)
		}
		return nil
	})
	_ = jsonmembers.EachChecked(orEmpty(o.Status), s.status)
	return s
}

// status reads one member of status. It does not decode the members that Shape lacks (the machine's addresses, provider status and last operation), because
// they are most of a status.
func (s *Shape) status(name, value []byte) error {
	if field := s.field(string(name)); field != nil {
		_ = json.Unmarshal(value, field)
	}
	if string(name) == "synchronizedGeneration" {
		s.Recorded = !nothing(value)
	}
	return nil
}

func (s *Shape) field(name string) any {
	switch name {
	case "authoritativeAPI":
		return &s.Current
	case "synchronizedAPI":
		return &s.SynchronizedAPI
	case "synchronizedGeneration":
		return &s.SynchronizedGeneration
	case "phase":
		return &s.Phase
	case "errorReason":
		return &s.ErrorReason
	case "replicas":
		return &s.Replicas
	case "conditions":
		return &s.Conditions
	}
	return nil
}

func orEmpty(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	return raw
}

func orNull(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// ReadConditions returns the conditions of a Cluster API object, core or infrastructure. API versions keep conditions in two places, and ReadConditions reads
// both. The conditions of the newer form (status.v1beta2) come first, so a search for a type that is in both places finds the newer form.
func ReadConditions(o *policies.Object) []Condition {
	if o == nil {
		return nil
	}
	var status struct {
		Conditions []Condition `json:"conditions"`
		V1Beta2    struct {
			Conditions []Condition `json:"conditions"`
		} `json:"v1beta2"`
	}
	_ = json.Unmarshal(orNull(o.Status), &status)
	return append(status.V1Beta2.Conditions, status.Conditions...)
}

// ConditionOf returns the condition of a type of a Cluster API object. It returns the zero value if there is none.
func ConditionOf(o *policies.Object, kind string) Condition { return find(ReadConditions(o), kind) }

// Paused returns the condition by which a Cluster API object's controllers acknowledge a pause. It returns the zero value if there is none.
func Paused(o *policies.Object) Condition { return ConditionOf(o, ConditionPaused) }
