// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/machine"
	"github.com/poundlock/poundlock/policies/authority"
)

// The indexes. nodeKeys and machineNodes have what a Node and its Machine may have in common (keysOfNode, machineKeys). machineLeaving has the Machines that
// are being deleted.
const (
	nodeKeys       = "machine/machine-keys"
	machineNodes   = "machine/node-keys"
	machineLeaving = "machine/leaving"
)

// firstRetry and lastRetry are the shortest and the longest time until a retry. A provider should not be asked more often than after firstRetry.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 5 * time.Minute
)

func machineIndexes(m manager.Manager) error {
	for _, i := range []struct {
		of    client.Object
		field string
		keys  client.IndexerFunc
	}{
		{&corev1.Node{}, nodeKeys, func(o client.Object) []string { return keysOfNode(o.(*corev1.Node)) }},
		{&machinev1beta1.Machine{}, machineNodes, func(o client.Object) []string { return machineKeys(o.(*machinev1beta1.Machine)) }},
		{&machinev1beta1.Machine{}, machineLeaving, leaving},
	} {
		if err := m.GetFieldIndexer().IndexField(context.Background(), i.of, i.field, i.keys); err != nil {
			return err
		}
	}
	return nil
}

func (c *machines) watch(m manager.Manager, o Options) error {
	if err := machineIndexes(m); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).Named("machine").
		For(&machinev1beta1.Machine{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: machineChanged})).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(c.machinesOf), builder.WithPredicates(predicate.Funcs{UpdateFunc: nodeChanged})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: o.Concurrency, SkipNameValidation: &o.AnyName,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).Complete(c.frame())
}

func (c *machines) frame() *gated[*machinev1beta1.Machine] {
	return &gated[*machinev1beta1.Machine]{client: c.client, clock: c.clock, on: c.gated, read: c.read, work: c.work, finish: c.resolveCreation}
}

func leaving(o client.Object) []string {
	if o.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return []string{"true"}
}

// machineKeys returns what a Machine may have in common with its Node: the provider ID, each address, and the Node's name once the Machine refers to the Node.
// keysOfNode returns the same for a Node.
func machineKeys(m *machinev1beta1.Machine) []string {
	name := ""
	if m.Status.NodeRef != nil {
		name = m.Status.NodeRef.Name
	}
	keys := keysOf(ptr.Deref(m.Spec.ProviderID, ""), name, m.Status.Addresses)
	if key := instanceKeyOf(m); key != "" && !slices.Contains(keys, "id/"+key) { // an ID with another cloud's scheme: its key on the Machine's platform
		keys = append(keys, "id/"+key)
	}
	return keys
}

func keysOfNode(n *corev1.Node) []string {
	return keysOf(n.Spec.ProviderID, n.Name, n.Status.Addresses)
}

func keysOf(id, name string, addresses []corev1.NodeAddress) []string {
	var keys []string
	if key := instanceid.Key(id); key != "" {
		keys = append(keys, "id/"+key)
	}
	if name != "" {
		keys = append(keys, "name/"+name)
	}
	for _, a := range machine.Addresses(addresses) {
		keys = append(keys, "address/"+a)
	}
	return keys
}

// machinesOf returns the Machines that a Node concerns, because they have a key in common with it.
func (c *machines) machinesOf(ctx context.Context, o client.Object) []reconcile.Request {
	var out []reconcile.Request
	add := func(key client.ObjectKey) {
		if r := (reconcile.Request{NamespacedName: key}); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for _, key := range keysOfNode(o.(*corev1.Node)) {
		list := &machinev1beta1.MachineList{}
		if err := c.client.List(ctx, list, client.MatchingFields{machineNodes: key}); err != nil {
			return out // the cache has not started: its first list requeues everything
		}
		for i := range list.Items {
			add(client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return out
}

// machineChanged reports whether an update of a Machine needs a pass of the Machine controller. Most updates of a status are the controller's own or the
// mirror's. A pass for each of them would call the provider each time.
func machineChanged(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*machinev1beta1.Machine), e.ObjectNew.(*machinev1beta1.Machine)
	return before.ResourceVersion == after.ResourceVersion || // a resync
		before.Generation != after.Generation || before.UID != after.UID ||
		!before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
		!slices.Equal(before.Finalizers, after.Finalizers) ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		before.Status.AuthoritativeAPI != after.Status.AuthoritativeAPI || pausedOf(before) != pausedOf(after) ||
		!slices.Contains(after.Finalizers, machinev1beta1.MachineFinalizer) && synchronizedOf(before) != synchronizedOf(after)
}

// synchronizedOf returns reason and message of the mirror's condition Synchronized. Admission may have refused a Machine its finalizer because another Machine
// of the same name exists in Cluster API. When the mirror's report changes, that other Machine may be gone.
func synchronizedOf(m *machinev1beta1.Machine) string {
	c, _ := conditionOfType(m.Status.Conditions, authority.ConditionSynchronized)
	return c.Reason + c.Message
}

func pausedOf(m *machinev1beta1.Machine) corev1.ConditionStatus {
	c, _ := conditionOfType(m.Status.Conditions, authority.ConditionPaused)
	return c.Status
}

// nodeChanged reports whether an update of a Node needs a pass over its Machine. It ignores heartbeats, images and usage, because a Node is written more often
// than any other object.
func nodeChanged(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node)
	return before.UID != after.UID || before.Spec.ProviderID != after.Spec.ProviderID ||
		!slices.Equal(keysOfNode(before), keysOfNode(after)) ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		!slices.EqualFunc(before.Spec.Taints, after.Spec.Taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) })
}
