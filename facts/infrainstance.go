// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// InfraInstance reads the object that a provider keeps for the instance of its machine (authority.InfraInstanceKind), nil if there is none. If the object may
// have another name than the machine (authority.InfraInstanceNamedAlike), it searches all objects of the kind. If the machine is already gone, infraMachine is
// nil, and key has the machine's name.
func InfraInstance(ctx context.Context, from client.Reader, kind schema.GroupVersionKind, key client.ObjectKey, infraMachine *unstructured.Unstructured) (
	*unstructured.Unstructured, error) {
	if infraMachine == nil {
		infraMachine = &unstructured.Unstructured{}
		infraMachine.SetNamespace(key.Namespace)
		infraMachine.SetName(key.Name)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	err := from.Get(ctx, client.ObjectKeyFromObject(infraMachine), o)
	alike := namedAlike(infraMachine)
	if err == nil && (alike || !authority.KeptForAnother(kind.Kind, o.GetOwnerReferences(), infraMachine.GetName())) {
		return o, nil
	}
	if served.Missing(err) || client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, infraMachine.GetName(), err)
	}
	if alike {
		return nil, nil
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := from.List(ctx, all, client.InNamespace(infraMachine.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
	}
	owned := func(ref metav1.OwnerReference) bool { return ref.UID == infraMachine.GetUID() }
	for i := range all.Items {
		if slices.ContainsFunc(all.Items[i].GetOwnerReferences(), owned) {
			return all.Items[i].DeepCopy(), nil
		}
	}
	return nil, nil
}

func namedAlike(infraMachine *unstructured.Unstructured) bool {
	spec, err := json.Marshal(infraMachine.Object["spec"])
	o := &policies.Object{TypeMeta: metav1.TypeMeta{Kind: infraMachine.GetKind()}, Spec: spec}
	o.Metadata.Name, o.Metadata.OwnerReferences = infraMachine.GetName(), infraMachine.GetOwnerReferences()
	return err != nil || authority.InfraInstanceNamedAlike(o)
}
