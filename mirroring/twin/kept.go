// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package twin

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// Kept returns the write that creates, paused, the object that the provider keeps for an instance, for an instance that Machine API runs. It does so before the
// provider may search for that instance by its name, and before Synchronized is True, and so before a move. Then a Machine that is deleted right after its move
// has the object. Without the object, the provider leaves the instance behind.
func (s Twin) Kept() *pairs.Write {
	if s.InfraInstance != nil || s.InstancesUnserved || s.Source() != authority.MachineAPI || s.Kind.Infra != authority.InfraMachine {
		return nil
	}
	for _, o := range []*unstructured.Unstructured{s.MachineAPI, s.Core, s.Infra} {
		if pairs.PresenceOf(o) != authority.Present {
			return nil
		}
	}
	if !s.IsMirror(s.Infra) || !pairs.IsPaused(s.Infra) {
		return nil
	}
	spec := s.keptSpec(s.Core, s.Infra)
	if spec == nil {
		return nil
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(s.Env.Platform.InfraInstance.GroupVersionKind)
	o.SetNamespace(s.Pair.ClusterAPI)
	o.SetName(s.Infra.GetName())
	o.SetLabels(map[string]string{clusterv1.ClusterNameLabel: s.Env.ClusterName})
	o.SetAnnotations(map[string]string{authority.PausedAnnotation: "true"})
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: s.Infra.GetAPIVersion(), Kind: s.Infra.GetKind(), Name: s.Infra.GetName(), UID: s.Infra.GetUID(),
	}})
	return &pairs.Write{Verb: pairs.Create, Object: o, Reason: "MirrorCreated", Note: "created " + pairs.Describe(o) + " for the instance of " +
		pairs.Describe(s.MachineAPI)}
}

// keptSpec returns the spec of the object that Kept creates; nil if the provider is to create that object.
func (s Twin) keptSpec(core, infra *unstructured.Unstructured) map[string]any {
	if s.Env.Platform.InstanceSpec == nil || !authority.InfraInstanceNamedAlike(pairs.ObjectOf(infra)) {
		return nil
	}
	machine, _, _ := unstructured.NestedMap(infra.Object, "spec")
	return s.Env.Platform.InstanceSpec(&s.Env, machine, pairs.Nested(core, "spec", "failureDomain"))
}

// hold adds Poundlock's hook (authority.InstanceHookAnnotation) to the mirror of a Machine that has an instance, if the provider is to create the object for
// that instance and that object does not have the provider's finalizer yet (InstanceHeld). Because of the hook, Cluster API deletes the provider's machine only
// once the object has the finalizer. While the mirror is paused, the hook has no effect.
func (s Twin) hold(want, infra *unstructured.Unstructured) {
	if s.Env.Platform.InfraInstance.Empty() || s.InstanceHeld() || s.InstancesUnserved || s.Kind.Infra != authority.InfraMachine ||
		s.Source() != authority.MachineAPI || pairs.Nested(want, "spec", "providerID") == "" || s.keptSpec(want, infra) != nil {
		return
	}
	pairs.Put(want, authority.InstanceHookOwner, "metadata", "annotations", authority.InstanceHookAnnotation)
}
