// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/ownership"
)

// Foreign is the reason why Poundlock may not write to a Cluster API object, core or infrastructure, that has the name of a Machine API object's mirror.
// Somebody else made such an object and uses it. That happens in a cluster in which both APIs were used before Poundlock was installed.
type Foreign string

// The reasons. NotForeign means that the object is the mirror or may become the mirror: "Cluster API, MachineAPI, create, has mirror: Sync controller syncs
// Machine API spec to Cluster API Machine" (converting › Summary of the rules). Admission requires that such an object is created paused.
const (
	NotForeign Foreign = ""
	// ForeignGoing: the object is being deleted.
	ForeignGoing Foreign = "BeingDeleted"
	// ForeignInstance: the object has another instance than the Machine API object. If Poundlock overwrote the object, no object would refer to that instance any
	// more.
	ForeignInstance Foreign = "HasInstance"
	// ForeignActs: the object is not paused.
	ForeignActs Foreign = "NotPaused"
	// ForeignStopping: the object is paused, but its controllers may not have seen the pause yet. Either they report that they still act, or the object has their
	// finalizer and they have not reported anything.
	ForeignStopping Foreign = "StillActing"
	// ForeignBegun: the object is paused, but somebody other than Poundlock paused it, a Machine owns it, and it has no instance ID. Its controllers may have
	// asked for an instance whose ID they have not stored yet.
	ForeignBegun Foreign = "Begun"
)

// ForeignTo returns why an object that has the name of a Machine API object's mirror is foreign, or NotForeign. An object with the same instance as the Machine
// API object is not foreign, whether or not it has MirrorAnnotation. Such an object still has to be paused.
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

// RunsAnother returns the name of another Cluster API Machine that owns a provider's machine, if the provider's machine runs an instance that is none of the
// pair's own. It returns "" if the Machine called machine is an owner, or if there is no other owner. MirrorAnnotation on the provider's machine proves nothing
// about that. If Poundlock overwrote the provider's machine, no object would refer to the other Machine's instance any more.
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

// formerMirror reports whether Poundlock wrote the object's pause annotation, as the managed fields show. Then the object was the mirror until `kubectl
// poundlock cleanup` removed its MirrorAnnotation, and no controller has acted on it since. This is certain, because Poundlock pauses no foreign Machine and no
// foreign infrastructure machine, and because the API server removes the record of the writer when somebody removes the annotation.
func formerMirror(o *policies.Object) bool {
	pause := managedfields.Path("metadata", "annotations", PausedAnnotation)
	return o.HasAnnotation(PausedAnnotation) && slices.ContainsFunc(managedFields(o), func(e metav1.ManagedFieldsEntry) bool {
		return (e.Manager == ownership.Manager || e.Manager == ownership.HandoffManager) && managedfields.EntryHolds(e, pause)
	})
}

// ReduceManagedFields returns the content of an object with only those managed fields that formerMirror reads: the writers of the pause annotation. Nobody
// reads the others of an object that is looked up for a review or by the plugin, and they are most of the object's bytes. The given content is not changed.
func ReduceManagedFields(content map[string]any) map[string]any {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok || metadata["managedFields"] == nil {
		return content
	}
	entries, _ := metadata["managedFields"].([]any)
	var writers []any
	for _, entry := range entries {
		e, _ := entry.(map[string]any)
		fields, _ := e["fieldsV1"].(map[string]any)
		of, _ := fields["f:metadata"].(map[string]any)
		annotations, _ := of["f:annotations"].(map[string]any)
		if pause, holds := annotations["f:"+PausedAnnotation]; holds {
			e = maps.Clone(e)
			e["fieldsV1"] = map[string]any{"f:metadata": map[string]any{"f:annotations": map[string]any{"f:" + PausedAnnotation: pause}}}
			writers = append(writers, e)
		}
	}
	content, metadata = maps.Clone(content), maps.Clone(metadata)
	content["metadata"] = metadata
	if delete(metadata, "managedFields"); len(writers) > 0 {
		metadata["managedFields"] = writers
	}
	return content
}

// strange reports whether the object under review has the name of a mirror, but is foreign and does not have the Machine API object's instance. The person who
// created such an object may delete it, together with its instance.
func strange(c policies.Change) bool {
	s := stand(c)
	if !s.mirror() || c.Side == policies.SideMachineAPI || c.Kind == InfraMachineTemplate || c.Kind == InfraInstance || c.Old == nil ||
		c.Old.HasAnnotation(MirrorAnnotation) {
		return false
	}
	return !SameInstance(c.Old, c.Facts.Twin) && ForeignTo(Kind{Name: "Machine"}, c.Facts.Twin, c.Old) != NotForeign
}

// providerID returns spec.providerID, the ID of the instance. Both APIs have this field. It returns "" if there is no object or no ID.
func providerID(o *policies.Object) string {
	var spec struct {
		ProviderID string `json:"providerID"`
	}
	if o != nil {
		_ = json.Unmarshal(orNull(o.Spec), &spec)
	}
	return spec.ProviderID
}

// own returns the pair's objects without those that are foreign to the pair. The handoff neither pauses foreign objects nor waits for them, so it works on the
// result.
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
