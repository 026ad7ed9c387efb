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

// Foreign is why Poundlock may not write to a Cluster API object, core or infrastructure, that has the name of a Machine API object's mirror: somebody else
// made the object and uses it. That happens in a cluster in which both APIs were used before Poundlock was installed.
type Foreign string

// The reasons. NotForeign is for an object that is the mirror or may become the mirror: "Cluster API, MachineAPI, create, has mirror: Sync controller syncs
// Machine API spec to Cluster API Machine" (converting › Summary of the rules). Admission requires that such an object is created paused.
const (
	NotForeign Foreign = ""
	// ForeignGoing: the object is being deleted.
	ForeignGoing Foreign = "BeingDeleted"
	// ForeignInstance: the object has another instance than the Machine API object. If Poundlock overwrote the object, that instance would belong to no object.
	ForeignInstance Foreign = "HasInstance"
	// ForeignActs: the object is not paused.
	ForeignActs Foreign = "NotPaused"
	// ForeignStopping: the object is paused, but its controllers may not have seen the pause. Either they report that they still act, or their finalizer is on
	// the object and they have reported nothing.
	ForeignStopping Foreign = "StillActing"
	// ForeignBegun: the object is paused, but Poundlock did not pause it, a Machine owns it, and it has no instance ID. Its controllers may have asked for an
	// instance whose ID they have not stored.
	ForeignBegun Foreign = "Begun"
)

// ForeignTo returns why an object with the name of a Machine API object's mirror is foreign, or NotForeign. An object with the Machine API object's own
// instance is not foreign, whether or not it has the mirror's mark. Such an object still has to be paused.
func ForeignTo(k Kind, machineAPI, o *policies.Object) Foreign {
	if o == nil || machineAPI == nil {
		return NotForeign
	}
	instance := providerID(o)
	another := runsAnother(providerBehind(o, machineAPI), machineAPI.Metadata.Name, o.Metadata.OwnerReferences, instance, providerID(machineAPI)) != ""
	if o.Metadata.Annotations[MirrorAnnotation] == k.Name+"/"+machineAPI.Metadata.Name && !another {
		return NotForeign
	}
	switch {
	case o.Deleting():
		return ForeignGoing
	case SameInstance(o, machineAPI):
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

// RunsAnother returns the name of another Cluster API Machine to which a provider's machine of a kind belongs. The other Machine is an owner that does not
// have the name machine, and the instance is none of the pair's own. It returns "" if there is no such Machine. A mark as a mirror on the provider's machine
// proves nothing: if Poundlock overwrote the provider's machine, the other Machine's instance would belong to no object.
func RunsAnother(kind, machine string, owners []metav1.OwnerReference, instance string, own ...string) string {
	return runsAnother(providerOf(kind), machine, owners, instance, own...)
}

func runsAnother(p Provider, machine string, owners []metav1.OwnerReference, instance string, own ...string) string {
	key := p.instanceKey(instance)
	if key == "" || slices.ContainsFunc(own, func(id string) bool { return p.instanceKey(id) == key }) {
		return ""
	}
	another := ""
	for _, ref := range owners {
		switch {
		case !ownsAsMachine(ref):
		case ref.Name == machine:
			return ""
		default:
			another = ref.Name
		}
	}
	return another
}

// formerMirror reports whether Poundlock wrote the object's pause annotation. Then the object was the mirror until `kubectl poundlock cleanup` removed its
// mark, and no controller has acted on the object since. The proof holds because Poundlock never writes to a foreign object. And when somebody removes the
// annotation, the API server removes the record of who wrote it.
func formerMirror(o *policies.Object) bool {
	pause := managedfields.Path("metadata", "annotations", PausedAnnotation)
	return o.HasAnnotation(PausedAnnotation) && slices.ContainsFunc(managedFields(o), func(e metav1.ManagedFieldsEntry) bool {
		return (e.Manager == ownership.Manager || e.Manager == ownership.HandoffManager) && managedfields.EntryHolds(e, pause)
	})
}

// strange reports whether the object under review has the name of a mirror, is foreign, and does not have the Machine API object's instance. The person who
// created such an object may delete it, with the instance that it has.
func strange(c policies.Change) bool {
	s := stand(c)
	if !s.mirror() || c.Side == policies.SideMachineAPI || c.Kind == InfraMachineTemplate || c.Kind == InfraInstance || c.Old == nil ||
		c.Old.HasAnnotation(MirrorAnnotation) {
		return false
	}
	return !SameInstance(c.Old, c.Facts.Twin) && ForeignTo(Kind{Name: "Machine"}, c.Facts.Twin, c.Old) != NotForeign
}

// providerID returns the instance's ID, spec.providerID, which both APIs write alike. It returns "" if there is no object or no ID.
func providerID(o *policies.Object) string {
	var spec struct {
		ProviderID string `json:"providerID"`
	}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Spec), &spec)
	}
	return spec.ProviderID
}

// own returns the pair's objects without those that are foreign to the pair. The handoff neither pauses foreign objects nor waits for them.
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
