// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// autoscalerManager is who carries over what the autoscaler says, in the managed fields of the Machine API object: whoever applies that object
// with replicas of their own is told of the conflict.
const autoscalerManager = "poundlock-autoscaler"

// machineAPIDelete is the Machine API's name of the annotation by which a Machine is chosen when a set is scaled down.
const machineAPIDelete = "machine.openshift.io/delete-machine"

// followed carries over to the authority what a writer that knows its mirror alone wrote there: the cluster autoscaler the replicas of a set and, of a
// Machine, the mark that chooses it, in Cluster API (converting › The Cluster Autoscaler in mixed MachineSet clusters); its operator the limits of
// a set, in the Machine API. authority.Grants has them all.
//
// Admission lets nobody else write these to a mirror (authority/scale-locked, spec-locked, metadata-reserved), but admission may be absent: wrote
// decides from the managed fields.
func (s *state) followed() *write {
	switch {
	case presence(s.core) != authority.Present || presence(s.machineAPI) != authority.Present:
		return nil
	case s.said().Current == authority.ClusterAPI:
		return s.limited()
	case s.said().Current != authority.MachineAPI || !s.isMirror(s.core):
		return nil
	case s.kind.Scales:
		return s.scaled()
	}
	return s.chosen()
}

// limited carries over the annotations of a Machine API set that has moved.
func (s *state) limited() *write {
	for _, g := range authority.Annotated(policies.MachineAPI) {
		if g.Manager == "" || g.While&authority.ByClusterAPI == 0 || !slices.Contains(g.Kinds, s.kind.Name) {
			continue
		}
		for _, key := range g.Fields {
			asked, has := s.machineAPI.GetAnnotations()[key]
			name := core.ClusterAPIAnnotation(key)
			now, known := s.core.GetAnnotations()[name]
			if !has || known && now == asked || !s.wrote(g.Manager, s.machineAPI, s.core, "f:metadata", "f:annotations", "f:"+key) {
				continue
			}
			return &write{verb: patch, by: autoscalerManager, object: s.core, reason: "AutoscalerFollowed", fields: []string{"metadata.annotations." + name},
				patch: metadataPatch(s.core, map[string]any{"annotations": map[string]any{name: asked}}),
				note:  fmt.Sprintf("set %s of %s to %q, because %s has set it on its mirror", name, describe(s.core), asked, g.Writer)}
		}
	}
	return nil
}

// wrote reports whether a manager wrote a field of the mirror later than the mirror's last write: managedFields name its manager as owner, and the
// mirror as owner no more. Anything less proves nothing, as anybody may clear managed fields (DESIGN §5).
func (s *state) wrote(manager string, mirror, source *unstructured.Unstructured, path ...string) bool {
	return !owns(mirror, path...) && slices.ContainsFunc(mirror.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == manager && holds(owned(e), path) && s.since(e, mirror, source, path)
	})
}

// since reports whether an entry is later than the mirror's last write. Times are in seconds: within one the owner decides, since each apply of the
// mirror's would have taken the field. Before the mirror has been made equal in this direction once, its last write was the switch.
// An entry of /scale has no time: the API server leaves it out. It is later if the mirror has claimed the field, or if the authority's is still the
// mirror's from before the switch: both sides were equal then, so that it is the mirror's side that has changed.
func (s *state) since(e metav1.ManagedFieldsEntry, mirror, source *unstructured.Unstructured, path []string) bool {
	before, claimed := s.said().SynchronizedGeneration == 0, claimed(mirror)
	switch {
	case e.Subresource == "scale":
		return !before && claimed || before && owns(source, path...)
	case e.Subresource != "" || e.Time == nil:
		return false
	case before:
		switched := s.said().Condition(authority.ConditionSynchronized)
		return switched.Status == metav1.ConditionUnknown && !e.Time.Before(&switched.LastTransitionTime)
	}
	return claimed && !slices.ContainsFunc(mirror.GetManagedFields(), func(o metav1.ManagedFieldsEntry) bool { return ours(o) && e.Time.Before(o.Time) })
}

func (s *state) scaled() *write {
	asked, has := replicas(s.core)
	now, _ := replicas(s.machineAPI)
	if !has || asked == now || !s.wrote(authority.AutoscalerManager, s.core, s.machineAPI, "f:spec", "f:replicas") {
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
	if s.kind.Infra != authority.InfraMachine || !marked || known || !s.wrote(authority.AutoscalerManager, s.core, s.machineAPI, mark...) {
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

// unclaimed lists what a mirror says as its authority does, but must be the mirror's own as well. What authority.Grants lets others write: they may have
// set it while the mirror was authoritative, and later only their new writes may count (since). And all of it, where the managed fields
// have been cleared: without an owner, what the authority drops would stay.
func (s *state) unclaimed(want, live *unstructured.Unstructured) []string {
	if !claimed(live) && (s.isMirror(live) || !slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "" })) {
		return []string{"metadata.managedFields"}
	}
	if want.GetKind() != s.kind.Name {
		return nil
	}
	if _, says := replicas(want); says && s.kind.Scales && !owns(live, "f:spec", "f:replicas") {
		return []string{"spec.replicas"}
	}
	for _, g := range authority.Annotated(s.mirrorSide()) {
		for _, key := range g.Fields {
			_, says := want.GetAnnotations()[key]
			if says && g.Manager != "" && slices.Contains(g.Kinds, s.kind.Name) && !owns(live, "f:metadata", "f:annotations", "f:"+key) {
				return []string{"metadata.annotations." + key}
			}
		}
	}
	return nil
}

// mirrorSide is the side to which the pair is mirrored.
func (s *state) mirrorSide() policies.Side {
	if s.source() == authority.ClusterAPI {
		return policies.MachineAPI
	}
	return policies.ClusterAPI
}

// claimed reports whether the mirror has applied to an object.
func claimed(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetManagedFields(), ours)
}
