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

// Names that Poundlock and the two APIs agree on.
const (
	// SyncFinalizer is Poundlock's own, on objects that have a twin (converting › Deletion of Machines).
	SyncFinalizer = "sync.machine.openshift.io/finalizer"
	// MachineAPIMachineFinalizer is added by the Machine API's machine controller before it calls a cloud.
	MachineAPIMachineFinalizer = machinev1beta1.MachineFinalizer
	// PausedAnnotation pauses a Cluster API object, whatever its value.
	PausedAnnotation = clusterv1.PausedAnnotation
	// PausedByPoundlock is its value on a Machine API object of a kind whose controller obeys the annotation and ignores authority. A user who pauses a health
	// check for an upgrade writes another.
	PausedByPoundlock = "poundlock.openshift.io"
	// Domain is of the labels and annotations that are Poundlock's own.
	Domain = "poundlock.openshift.io"
	// MirrorAnnotation marks what the mirror made on the Cluster API side; its value is Kind/name of the Machine API
	// object that it mirrors.
	MirrorAnnotation = Domain + "/mirror-of"
	// ReplacedAnnotation is on a provider's machine that the mirror deletes to create it again, because it may not be changed.
	ReplacedAnnotation = Domain + "/replaced"
	// LastAppliedAnnotation is written by every `kubectl apply`.
	LastAppliedAnnotation = corev1.LastAppliedConfigAnnotation
	// AutoscalerManager is the field manager of the cluster autoscaler's writes.
	AutoscalerManager = "cluster-autoscaler"
	// ReasonForeignTwin is why Synchronized is False while something that Poundlock did not make stands in the mirror's place (Foreign).
	ReasonForeignTwin = "ForeignTwin"
	// ReasonWouldBeAdopted is why Synchronized is False while a MachineSet's deletion waits: another set would adopt Machines that it leaves.
	ReasonWouldBeAdopted = "WouldBeAdopted"
	// BesideForeignAnnotation is on a Machine of the Machine API's with that reason, until it begins or nothing is in the way: a condition does not last, as the
	// Machine API's controllers replace the whole list while Poundlock is away.
	BesideForeignAnnotation = Domain + "/beside-foreign"
	// ConditionSynchronized reports, on the Machine API object, whether the mirror equals the authority.
	ConditionSynchronized = "Synchronized"
	// ReasonAuthorityChanged is why Synchronized is Unknown from the end of a move until the mirror has run in the new direction.
	ReasonAuthorityChanged = "AuthorityChanged"
	// ConditionMirrored is False on a MachineSet of Cluster API whose Machine API MachineSet was deleted while Cluster API was authoritative.
	ConditionMirrored = "MirroredInMachineAPI"
	// ConditionPaused is how each API's controllers acknowledge that they stay away, or act again.
	ConditionPaused = "Paused"
)

// API is a value of authoritativeAPI.
type API string

// The values of authoritativeAPI; spec has the first two, status.synchronizedAPI too.
const (
	Unset      API = ""
	MachineAPI API = "MachineAPI"
	ClusterAPI API = "ClusterAPI"
	Migrating  API = "Migrating"
)

// Other is the opposite API; of Unset and Migrating there is none.
func (a API) Other() API {
	switch a {
	case MachineAPI:
		return ClusterAPI
	case ClusterAPI:
		return MachineAPI
	}
	return Unset
}

// Text is the API's name for people.
func (a API) Text() string {
	switch a {
	case MachineAPI:
		return "Machine API"
	case ClusterAPI:
		return "Cluster API"
	}
	return string(a)
}

// Shape has the fields of authority of a Machine API object: the one shape through which all kinds are read.
type Shape struct {
	// Requested is spec.authoritativeAPI.
	Requested API
	// Current is status.authoritativeAPI.
	Current API
	// SynchronizedAPI is the last stable value of Current.
	SynchronizedAPI API
	// SynchronizedGeneration is the authority's generation that the mirror was made from.
	SynchronizedGeneration int64
	// Recorded reports that status.synchronizedGeneration is stored, be it 0: see Existed.
	Recorded bool
	// Phase is status.phase, of a Machine.
	Phase string
	// ErrorReason is status.errorReason, of a Machine.
	ErrorReason string
	// Replicas is status.replicas, of a MachineSet.
	Replicas   int64
	Conditions []Condition
}

// Condition is what both APIs' conditions have in common.
type Condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitzero"`
}

// Condition returns the condition of a type, the zero value where there is none.
func (s Shape) Condition(kind string) Condition { return find(s.Conditions, kind) }

func find(cs []Condition, kind string) Condition {
	for _, c := range cs {
		if c.Type == kind {
			return c
		}
	}
	return Condition{}
}

// Existed reports that the object of the API that is authoritative is known to have existed: status.synchronizedGeneration is stored. It is 0 from the switch,
// or the adoption, which stores it with the new authority, until the mirror has run in the new direction. An older release left it out there, and stored the
// condition.
func (s Shape) Existed() bool {
	return s.Recorded || s.SynchronizedGeneration != 0 || s.Condition(ConditionSynchronized).Reason == ReasonAuthorityChanged
}

// Read returns the Shape of a Machine API object. An object that is absent, or whose spec and status cannot be read, has
// nothing: the zero Shape. Its conditions are shared between all who read the same object.
func Read(o *policies.Object) Shape {
	if o == nil {
		return Shape{}
	}
	return policies.Reading(o, read)
}

func read(o *policies.Object) Shape {
	var s Shape
	// The API server's schema has seen to the types; where it has not (no CRD validation), nothing is what is said.
	_ = jsonmembers.EachChecked(orEmpty(o.Spec), func(name, value []byte) error {
		if string(name) == "authoritativeAPI" {
			_ = json.Unmarshal(value, &s.Requested)
		}
		return nil
	})
	_ = jsonmembers.EachChecked(orEmpty(o.Status), s.status)
	return s
}

// status reads one member of status; most of it is the machine's addresses, provider status and last operation.
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

// ReadConditions returns the conditions of a Cluster API object, core or infrastructure, wherever its version keeps
// them. Where a type stands in both places the newer form (status.v1beta2) wins.
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

// ConditionOf returns the condition of a type of a Cluster API object, the zero value where there is none.
func ConditionOf(o *policies.Object, kind string) Condition { return find(ReadConditions(o), kind) }

// Paused reports whether a Cluster API object's controllers have acknowledged that they are paused.
func Paused(o *policies.Object) Condition { return ConditionOf(o, ConditionPaused) }
