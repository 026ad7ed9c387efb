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

// The names of a cache's indexes of Machines. The index by owner also has Cluster API's MachineSets. Reviews and reconcilers share the indexes, because an
// entry takes some 300 bytes, and the cache keeps two for each value.
const (
	byInstance = "poundlock.instance"
	byOwner    = "poundlock.owner"
	byRole     = "poundlock.role"
	byInfra    = "poundlock.infra"
)

// IndexByOwner adds an index to a cache by which Machines or MachineSets are found by their owner. It must be called before the cache is started.
func IndexByOwner(ctx context.Context, cache client.FieldIndexer, kind schema.GroupVersionKind) error {
	return index(ctx, cache, kind, byOwner, func(o client.Object) []string {
		if owner := OwnerOf(o); owner != nil {
			return owner
		}
		return []string{string(Nobody)}
	})
}

// IndexByInstance adds an index to a cache by which Machines, or the objects that a provider keeps for instances, are found by the instance.
func IndexByInstance(ctx context.Context, cache client.FieldIndexer, machines schema.GroupVersionKind) error {
	return index(ctx, cache, machines, byInstance, instanceOf)
}

// IndexByRole adds an index to a cache by which the Machine API Machines of the control plane are found. No other Machine is in the index. It must be called
// before the cache is started.
func IndexByRole(ctx context.Context, cache client.FieldIndexer) error {
	return index(ctx, cache, machineKind(), byRole, func(o client.Object) []string {
		if authority.OfControlPlane(o.GetLabels()) {
			return []string{controlPlaneRole}
		}
		return nil
	})
}

// IndexByInfra adds an index to a cache by which those Cluster API Machines are found that refer to an infrastructure machine with another name than their own.
// It must be called before the cache is started. A mirror refers to the infrastructure machine of its own name, so hardly any Machine is in the index.
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

// conflict is a part of the error text of controller-runtime's cache for a second index of the same name. That error has no type of its own.
const conflict = "indexer conflict"

// index adds an index, unless another part of the process has added it. That is no error, because all indexes of the same name and kind are the same. The cache
// of package served shares them by itself.
func index(ctx context.Context, cache client.FieldIndexer, machines schema.GroupVersionKind, name string, of client.IndexerFunc) error {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(machines)
	if err := cache.IndexField(ctx, o, name, of); err != nil && !strings.Contains(err.Error(), conflict) {
		return fmt.Errorf("indexing %s for %s: %w", machines, name, err)
	}
	return nil
}

// Nobody is the key, in the index by owner, of the objects that have no controller.
const Nobody types.UID = "nobody"

// OwnedBy returns the list option for the Machines or MachineSets whose controller has the UID owner. With Nobody, it selects those without a controller.
func OwnedBy(owner types.UID) client.ListOption { return client.MatchingFields{byOwner: string(owner)} }

// OfControlPlane returns the list option for the Machines of the control plane.
func OfControlPlane() client.ListOption { return client.MatchingFields{byRole: controlPlaneRole} }

const controlPlaneRole = "control-plane"

// OfInstance returns the list option for the Machines that may belong to an instance. id is the instance's ID, its authority.InstanceKey or its
// authority.InstanceTail. The option selects all Machines with the same tail, and the caller checks which of them belong to the instance.
func OfInstance(id string) client.ListOption {
	return client.MatchingFields{byInstance: instanceid.Tail(id)}
}

// OfInfra returns the list option for the Machines of other names that refer to the infrastructure machine with this name.
func OfInfra(name string) client.ListOption { return client.MatchingFields{byInfra: name} }

// OwnerOf returns the UID of an object's controller, as a list of one; nil if the object has no controller.
func OwnerOf(o client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// instanceFields returns the paths at which an object of a kind may have the ID of its instance (authority.KeptInstance).
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
