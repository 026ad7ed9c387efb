// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies/authority"
)

// autoscalerManager is who carries over what the autoscaler says, in the managed fields of the Machine API object: whoever applies that object
// with replicas of their own is told of the conflict.
const autoscalerManager = "poundlock-autoscaler"

// machineAPIDelete is the Machine API's name of the annotation by which a Machine is chosen when a set is scaled down.
const machineAPIDelete = "machine.openshift.io/delete-machine"

// autoscaled carries over to the Machine API object in charge what the cluster autoscaler, which watches Cluster API alone, wrote to its mirror: the
// replicas of a set and, of a Machine, the mark that chooses it (converting › The Cluster Autoscaler in mixed MachineSet clusters).
//
// Admission lets nobody else write these to a mirror (authority/scale-locked, spec-locked, metadata-reserved), but admission may be absent: wrote
// decides from the managed fields.
func (s *state) autoscaled() *write {
	if s.said().Current != authority.MachineAPI || !s.isMirror(s.core) || presence(s.core) != authority.Present {
		return nil
	}
	if s.kind.Scales {
		return s.scaled()
	}
	return s.chosen()
}

// wrote reports whether the autoscaler wrote a field of the mirror later than the mirror's last write: managedFields name its manager as owner, and the
// mirror as owner no more. Anything less proves nothing, as anybody may clear managed fields (DESIGN §5).
func (s *state) wrote(path ...string) bool {
	return !owns(s.core, path...) && slices.ContainsFunc(s.core.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == authority.AutoscalerManager && holds(owned(e), path) && s.since(e, path)
	})
}

// since reports whether an entry is later than the mirror's last write. Times are in seconds: within one the owner decides, since each apply of the
// mirror's would have taken the field. Before the mirror has been made equal in this direction once, its last write was the switch.
// An entry of /scale has no time: the API server leaves it out. It is later if the mirror has claimed the field, or if the authority's is still the
// mirror's from before the switch: both sides were equal then, so that it is the mirror's side that has changed.
func (s *state) since(e metav1.ManagedFieldsEntry, path []string) bool {
	before, claimed := s.said().SynchronizedGeneration == 0, s.claimed(s.core)
	switch {
	case e.Subresource == "scale":
		return !before && claimed || before && owns(s.machineAPI, path...)
	case e.Subresource != "" || e.Time == nil:
		return false
	case before:
		switched := s.said().Condition(authority.ConditionSynchronized)
		return switched.Status == metav1.ConditionUnknown && !e.Time.Before(&switched.LastTransitionTime)
	}
	return claimed && !slices.ContainsFunc(s.core.GetManagedFields(), func(o metav1.ManagedFieldsEntry) bool { return ours(o) && e.Time.Before(o.Time) })
}

func (s *state) scaled() *write {
	asked, has := replicas(s.core)
	now, _ := replicas(s.machineAPI)
	if !has || asked == now || !s.wrote("f:spec", "f:replicas") {
		return nil
	}
	body := metadataPatch(s.machineAPI, map[string]any{})
	body["spec"] = map[string]any{"replicas": asked}
	return &write{verb: patch, by: autoscalerManager, object: s.machineAPI, patch: body, reason: "AutoscalerFollowed", fields: []string{"spec.replicas"},
		note: fmt.Sprintf("scaled %s from %d to %d, because the cluster autoscaler has scaled its mirror in Cluster API", describe(s.machineAPI), now, asked)}
}

// mark is where a Machine of Cluster API is chosen.
var mark = []string{"f:metadata", "f:annotations", "f:" + clusterv1.DeleteMachineAnnotation}

func (s *state) chosen() *write {
	value, marked := s.core.GetAnnotations()[clusterv1.DeleteMachineAnnotation]
	_, known := s.machineAPI.GetAnnotations()[machineAPIDelete]
	if s.kind.Infra != authority.InfraMachine || !marked || known || !s.wrote(mark...) {
		return nil
	}
	return &write{verb: patch, by: autoscalerManager, object: s.machineAPI, reason: "AutoscalerFollowed", fields: []string{"metadata.annotations." + machineAPIDelete},
		patch: metadataPatch(s.machineAPI, map[string]any{"annotations": map[string]any{machineAPIDelete: value}}),
		note:  "marked " + describe(s.machineAPI) + " as the one to go, because the cluster autoscaler has marked its mirror in Cluster API"}
}

func replicas(o *unstructured.Unstructured) (n int64, says bool) {
	v, says, err := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
	f, isNumber := number(v)
	return int64(f), says && err == nil && isNumber
}

// unclaimed lists what a mirror says as its authority does, but must be the mirror's own as well. A set's replicas and a Machine's mark: others may have
// set them while the mirror was authoritative, and later only the autoscaler's writes may count (since). And all of it, where the managed fields
// have been cleared: without an owner, what the authority drops would stay.
func (s *state) unclaimed(want, live *unstructured.Unstructured) []string {
	if !s.claimed(live) && (s.isMirror(live) || !slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "" })) {
		return []string{"metadata.managedFields"}
	}
	if want.GetKind() != s.kind.Name {
		return nil
	}
	if _, says := replicas(want); says && s.kind.Scales && !owns(live, "f:spec", "f:replicas") {
		return []string{"spec.replicas"}
	}
	if _, marked := want.GetAnnotations()[clusterv1.DeleteMachineAnnotation]; marked && !owns(live, mark...) {
		return []string{"metadata.annotations." + clusterv1.DeleteMachineAnnotation}
	}
	return nil
}

// claimed reports whether the mirror has applied to an object.
func (s *state) claimed(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetManagedFields(), ours)
}
