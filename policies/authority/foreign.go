// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/ownership"
)

// Foreign is why Poundlock may not write to an object of Cluster API's, core or infrastructure, in the place of a Machine API object's mirror:
// somebody else made it, as in a cluster in which both APIs were used before Poundlock came, and it has a life of its own.
type Foreign string

// The reasons, NotForeign for an object that is the mirror or may become it: "Cluster API, MachineAPI, create, has mirror: Sync controller syncs Machine
// API spec to Cluster API Machine" (converting › Summary of the rules), which admission asks to be created paused.
const (
	NotForeign Foreign = ""
	// ForeignGoing: it is being deleted.
	ForeignGoing Foreign = "BeingDeleted"
	// ForeignInstance: it has another instance than the Machine API object. Written over, that one would be nobody's.
	ForeignInstance Foreign = "HasInstance"
	// ForeignActs: it is not paused.
	ForeignActs Foreign = "NotPaused"
	// ForeignStopping: it is paused, and its controllers say that they still act, or hold it and have said nothing: they may not have seen the pause.
	ForeignStopping Foreign = "StillActing"
	// ForeignBegun: it is paused, but not by Poundlock, a Machine owns it, and it has no ID. Its controllers may have asked for an instance whose ID they
	// have not stored.
	ForeignBegun Foreign = "Begun"
)

// ForeignTo judges an object that has the name of a Machine API object's mirror. One that runs the very instance of the Machine API object is no stranger:
// it has to be paused, marked or not.
func ForeignTo(k Kind, machineAPI, o *policies.Object) Foreign {
	if o == nil || machineAPI == nil || o.Metadata.Annotations[MirrorAnnotation] == k.Name+"/"+machineAPI.Metadata.Name {
		return NotForeign
	}
	instance := providerID(o)
	switch {
	case o.Deleting():
		return ForeignGoing
	case instance != "" && instance == providerID(machineAPI):
		return NotForeign
	case instance != "":
		return ForeignInstance
	case !o.HasAnnotation(PausedAnnotation):
		return ForeignActs
	case answer(Paused(o).Status) == AcknowledgedUnpaused, k.ClusterAPIFinalizer != "" && o.HasFinalizer(k.ClusterAPIFinalizer) &&
		answer(Paused(o).Status) != AcknowledgedPaused:
		return ForeignStopping
	case len(MachineOwners(o)) > 0 && !formerMirror(o):
		return ForeignBegun
	}
	return NotForeign
}

// formerMirror reports whether Poundlock wrote the pause that an object has: then it was the mirror, as before `kubectl poundlock cleanup` took the mark off,
// and nobody has acted on it since. Poundlock writes to no stranger, and the API server takes the name of who wrote an annotation away with the annotation.
func formerMirror(o *policies.Object) bool {
	pause := managedfields.Path("metadata", "annotations", PausedAnnotation)
	return o.HasAnnotation(PausedAnnotation) && slices.ContainsFunc(managedFields(o), func(e metav1.ManagedFieldsEntry) bool {
		return (e.Manager == ownership.Manager || e.Manager == ownership.HandoffManager) && managedfields.EntryHolds(e, pause)
	})
}

// strange reports whether the object under review stands where the mirror belongs, is foreign to it, and has not the Machine API object's instance. Its
// creator may end it, and the instance that it has.
func strange(c policies.Change) bool {
	s := stand(c)
	if !s.mirror() || c.Side == policies.SideMachineAPI || c.Kind == InfraMachineTemplate || c.Kind == InfraInstance || c.Old == nil ||
		c.Old.HasAnnotation(MirrorAnnotation) {
		return false
	}
	id := providerID(c.Old)
	return (id == "" || id != providerID(c.Facts.Twin)) && ForeignTo(Kind{Name: "Machine"}, c.Facts.Twin, c.Old) != NotForeign
}

// providerID names the instance, in the same words on both sides; "" where there is no object or no ID.
func providerID(o *policies.Object) string {
	var spec struct {
		ProviderID string `json:"providerID"`
	}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Spec), &spec)
	}
	return spec.ProviderID
}

// own leaves out what is foreign to the pair. Nobody asks it to pause, and nobody waits for it.
func (o Objects) own() Objects {
	if Source(Read(o.MachineAPI)) != MachineAPI {
		return o
	}
	if ForeignTo(o.Kind, o.MachineAPI, o.ClusterAPI) != NotForeign {
		o.ClusterAPI, o.Infra, o.InfraInstance = nil, nil, nil
	}
	if o.Kind.InfraActs() && ForeignTo(o.Kind, o.MachineAPI, o.Infra) != NotForeign {
		o.Infra, o.InfraInstance = nil, nil
	}
	return o
}
