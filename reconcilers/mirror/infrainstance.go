// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies/authority"
)

// keepInstance makes what the provider keeps for an instance that Machine API runs, paused, before the provider may look for that instance by its name. It is there
// before Synchronized is True, and so before a move. And a Machine that is deleted right after its move has it: without it the provider leaves the instance behind.
func (s *state) keepInstance() *write {
	if s.infraInstance != nil || s.instancesUnserved || s.source() != authority.MachineAPI || s.env.Platform.InstanceSpec == nil || s.kind.Infra != authority.InfraMachine {
		return nil
	}
	for _, o := range []*unstructured.Unstructured{s.machineAPI, s.core, s.infra} {
		if presence(o) != authority.Present {
			return nil
		}
	}
	if !s.isMirror(s.infra) || !isPaused(s.infra) || !authority.InfraInstanceNamedAlike(object(s.infra)) {
		return nil
	}
	machine, _, _ := unstructured.NestedMap(s.infra.Object, "spec")
	spec := s.env.Platform.InstanceSpec(&s.env, machine, nested(s.core, "spec", "failureDomain"))
	if spec == nil {
		return nil
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(s.env.Platform.InfraInstance.GroupVersionKind)
	o.SetNamespace(s.pair.ClusterAPI)
	o.SetName(s.infra.GetName())
	o.SetLabels(map[string]string{clusterv1.ClusterNameLabel: s.env.ClusterName})
	o.SetAnnotations(map[string]string{authority.PausedAnnotation: "true"})
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: s.infra.GetAPIVersion(), Kind: s.infra.GetKind(), Name: s.infra.GetName(), UID: s.infra.GetUID(),
	}})
	return &write{verb: create, object: o, reason: "MirrorCreated", note: "created " + describe(o) + " for the instance of " + describe(s.machineAPI)}
}
