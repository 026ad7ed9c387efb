// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/policies/authority"
)

// The indices of a cache of Machines. The index by owner is also one of Cluster API's MachineSets. Reviews and reconcilers share the indices: an entry takes
// some 300 bytes, and the cache keeps two for each value.
const (
	byInstance = "poundlock.instance"
	byOwner    = "poundlock.owner"
	byRole     = "poundlock.role"
	byInfra    = "poundlock.infra"
)

// IndexByOwner has a cache find Machines or MachineSets by their owner, before it is started.
func IndexByOwner(ctx context.Context, cache client.FieldIndexer, kind schema.GroupVersionKind) error {
	return index(ctx, cache, kind, byOwner, func(o client.Object) []string {
		if owner := OwnerOf(o); owner != nil {
			return owner
		}
		return []string{string(Nobody)}
	})
}

// IndexByInstance has a cache find Machines, or what a provider keeps for instances, by the instance.
func IndexByInstance(ctx context.Context, cache client.FieldIndexer, machines schema.GroupVersionKind) error {
	return index(ctx, cache, machines, byInstance, instanceOf)
}

// IndexByRole has a cache find the Machine API's Machines of the control plane, before it is started. No other Machine is in the index.
func IndexByRole(ctx context.Context, cache client.FieldIndexer) error {
	return index(ctx, cache, machineKind(), byRole, func(o client.Object) []string {
		if authority.OfControlPlane(o.GetLabels()) {
			return []string{controlPlaneRole}
		}
		return nil
	})
}

// IndexByInfra has a cache find the Cluster API Machines that refer to an infrastructure machine of another name than their own, before the cache is started.
// A mirror refers to the infrastructure machine of its own name, so hardly a Machine is in the index.
func IndexByInfra(ctx context.Context, cache client.FieldIndexer, machines schema.GroupVersionKind) error {
	return index(ctx, cache, machines, byInfra, func(o client.Object) []string {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return nil
		}
		name, _, _ := unstructured.NestedString(u.Object, "spec", "infrastructureRef", "name")
		if name == "" || name == o.GetName() {
			return nil
		}
		return []string{name}
	})
}

// conflict is in the error of controller-runtime's cache for the second index of the same name. The error has no type of its own.
const conflict = "indexer conflict"

// index adds an index, unless another part of the process has added it: an index of a name and a kind is always the same. Package served's cache shares them
// by itself.
func index(ctx context.Context, cache client.FieldIndexer, machines schema.GroupVersionKind, name string, of client.IndexerFunc) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(machines)
	if err := cache.IndexField(ctx, o, name, of); err != nil && !strings.Contains(err.Error(), conflict) {
		return fmt.Errorf("indexing %s for %s: %w", machines, name, err)
	}
	return nil
}

// Nobody stands for the owner of the Machines that have no controller.
const Nobody types.UID = "nobody"

// OwnedBy selects the Machines or MachineSets whose controller has the UID, or that are Nobody's.
func OwnedBy(owner types.UID) client.ListOption { return client.MatchingFields{byOwner: string(owner)} }

// OfControlPlane selects the Machines of the control plane.
func OfControlPlane() client.ListOption { return client.MatchingFields{byRole: controlPlaneRole} }

const controlPlaneRole = "control-plane"

// OfInstance selects the Machines that may belong to an instance, by its ID, its authority.InstanceKey or its authority.InstanceTail. It selects all with the
// same tail, and the caller checks which of them belong to the instance.
func OfInstance(id string) client.ListOption {
	return client.MatchingFields{byInstance: instanceid.Tail(id)}
}

// OfInfra selects the Machines of other names that refer to an infrastructure machine.
func OfInfra(name string) client.ListOption { return client.MatchingFields{byInfra: name} }

// OwnerOf is the UID of an object's controller, nothing where it has none.
func OwnerOf(o client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// instanceFields are where an object of a kind has the ID of its instance (authority.KeptInstance).
func instanceFields(kind string) [][]string {
	if authority.KeepsInstances(kind) {
		return [][]string{{"spec", "biosUUID"}, {"status", "instanceID"}}
	}
	return [][]string{{"spec", "providerID"}}
}

func instanceOf(o client.Object) []string {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	for _, path := range instanceFields(u.GetKind()) {
		if id, _, _ := unstructured.NestedString(u.Object, path...); id != "" {
			return []string{instanceid.Tail(id)}
		}
	}
	return nil
}
