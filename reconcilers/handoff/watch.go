// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/facts/pairfacts"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
)

// setup starts the controller and watches the objects of both APIs. A provider's kind is watched once an object refers to it.
func (r *reconciler) setup(mgr ctrl.Manager, concurrency int) error {
	if err := r.index(mgr); err != nil {
		return err
	}
	c, err := controller.New("handoff-"+strings.ToLower(r.kind.Name), mgr, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: concurrency, ReconciliationTimeout: longest, RateLimiter: requeue.Patient(),
	})
	if err != nil {
		return err
	}
	w := &served.Watcher{Controller: c, Cache: mgr.GetCache()}
	r.follow = func(kind schema.GroupVersionKind) error {
		return w.Once(kind, func() error {
			if r.indexed && authority.KeepsInstances(kind.Kind) {
				if err := facts.IndexByInstance(context.Background(), mgr.GetFieldIndexer(), kind); err != nil {
					return err
				}
			}
			return w.Watch(kind, r.behind)
		})
	}
	all := pairfacts.Woken{Kind: r.kind, Pairs: r.pairs, Cache: mgr.GetCache()}
	err = errors.Join(w.Watch(r.kind.MachineAPIGVK(), r.behind), w.Watch(r.kind.ClusterAPIGVK(), r.behind),
		w.Watch(facts.ClusterKind, all.Everything, pausesChange()))
	if child, ok := r.kind.Children(); ok {
		// If a CRD is created or deleted, that changes what a set waits for, although no Machine of the set changes.
		err = errors.Join(err, w.Watch(child.MachineAPIGVK(), r.above, countChanges()), w.Watch(child.ClusterAPIGVK(), r.above, countChanges()),
			c.Watch(served.Changes(mgr.GetCache(), func(ctx context.Context) []reconcile.Request { return all.Everything(ctx, nil) })))
	}
	return err
}

// pausesChange lets the events of a Cluster pass by which it is paused or unpaused. After that, Cluster API's controllers do not look at every object at once,
// so that no event of the object itself would requeue its pair.
func pausesChange() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return facts.ClusterPaused(e.ObjectOld) != facts.ClusterPaused(e.ObjectNew)
		},
	}
}

// above returns the request for the pair of the MachineSet that owns a Machine. For a Machine without an owner it returns the set that the Machine's label
// names. That set counts the Machine once the same API is authoritative for both.
func (r *reconciler) above(_ context.Context, o client.Object) []reconcile.Request {
	namespaces, ok := r.pairs.Of(o.GetNamespace())
	ref := metav1.GetControllerOfNoCopy(o)
	set := o.GetLabels()[machineapi.MachineSetLabel]
	if ref != nil {
		set = ref.Name
	}
	if !ok || set == "" || ref != nil && ref.Kind != r.kind.Name {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespaces.MachineAPI, Name: set}}}
}

// behind returns the requests for the pairs to which an object of either API may belong: the pair of the same name. For a provider's object it also returns the
// pair that the object's mirror annotation names, and the pair whose twin owns the object.
func (r *reconciler) behind(_ context.Context, o client.Object) []reconcile.Request {
	namespaces, ok := r.pairs.Of(o.GetNamespace())
	if !ok {
		return nil
	}
	names := []string{o.GetName()}
	if kind, name, ok := strings.Cut(o.GetAnnotations()[authority.MirrorAnnotation], "/"); ok && kind == r.kind.Name {
		names = append(names, name)
	}
	if o.GetObjectKind().GroupVersionKind().Group == infraGroup {
		for _, owner := range o.GetOwnerReferences() {
			if owner.Kind == r.kind.Name || authority.OwnsInfraInstance(o.GetObjectKind().GroupVersionKind().Kind, owner) {
				names = append(names, owner.Name)
			}
		}
	}
	var out []reconcile.Request
	for _, name := range names {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespaces.MachineAPI, Name: name}})
	}
	return out // the queue keeps one of each
}
