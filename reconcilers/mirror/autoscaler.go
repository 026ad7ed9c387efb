// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies/authority"
)

// autoscalerManager is who carries over what the autoscaler says, in the managed fields of the Machine API object: whoever applies that object
// with replicas of their own is told of the conflict.
const autoscalerManager = "poundlock-autoscaler"

// machineAPIDelete is the Machine API's name of the annotation by which a Machine is chosen when a set is scaled down.
const machineAPIDelete = "machine.openshift.io/delete-machine"

// autoscaled carries over to the Machine API object in charge what the cluster autoscaler, which watches Cluster API alone, said to its mirror: the
// replicas of a set and, of a Machine, that it is the one to go (converting › The Cluster Autoscaler in mixed MachineSet clusters).
//
// That it was the autoscaler is admission's to know: on a mirror it lets nobody else write these (authority/scale-locked, spec-locked,
// metadata-reserved). That it was said after the mirror was made equal is told by the field's owner: each apply of the mirror's makes it the owner, and
// a write by somebody else ends that. So nothing is taken for news before the mirror has been made equal in this direction once.
func (s *state) autoscaled() *write {
	if s.said().Current != authority.MachineAPI || s.said().SynchronizedGeneration == 0 || !s.isMirror(s.core) || presence(s.core) != authority.Present {
		return nil
	}
	if s.kind.Scales {
		return s.scaled()
	}
	return s.chosen()
}

func (s *state) scaled() *write {
	asked, has := replicas(s.core)
	now, _ := replicas(s.machineAPI)
	if !has || asked == now || owns(s.core, "f:spec", "f:replicas") {
		return nil
	}
	body := metadataPatch(s.machineAPI, map[string]any{})
	body["spec"] = map[string]any{"replicas": asked}
	return &write{verb: patch, by: autoscalerManager, object: s.machineAPI, patch: body, reason: "AutoscalerFollowed", fields: []string{"spec.replicas"},
		note: fmt.Sprintf("scaled %s from %d to %d, because the cluster autoscaler has scaled its mirror in Cluster API", describe(s.machineAPI), now, asked)}
}

func (s *state) chosen() *write {
	value, marked := s.core.GetAnnotations()[clusterv1.DeleteMachineAnnotation]
	_, known := s.machineAPI.GetAnnotations()[machineAPIDelete]
	if s.kind.Infra != authority.InfraMachine || !marked || known || owns(s.core, "f:metadata", "f:annotations", "f:"+clusterv1.DeleteMachineAnnotation) {
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

// unclaimed reports whether the replicas of a set's mirror, equal as they are, have yet to become the mirror's: people may have set them when Cluster API was in
// charge, and must not be taken for the autoscaler afterwards.
func (s *state) unclaimed(want, live *unstructured.Unstructured) bool {
	_, says := replicas(want)
	return says && s.kind.Scales && want.GetKind() == s.kind.Name && s.source() == authority.MachineAPI && !owns(live, "f:spec", "f:replicas")
}
