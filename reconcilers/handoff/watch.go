// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/policies/authority"
)

// setup starts the controller and watches both sides. Providers' kinds are watched when an object first refers to one.
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
	to := func(m handler.MapFunc, only ...predicate.Predicate) func(schema.GroupVersionKind) error {
		return func(gvk schema.GroupVersionKind) error {
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(gvk)
			if err := c.Watch(source.Kind[client.Object](mgr.GetCache(), o, handler.EnqueueRequestsFromMapFunc(m), only...)); err != nil {
				return fmt.Errorf("watching %s: %w", gvk, err)
			}
			return nil
		}
	}
	watch := to(r.behind)
	r.follow = once(watch)
	err = errors.Join(watch(r.kind.MachineAPIGVK()), watch(r.kind.ClusterAPIGVK()))
	if child, ok := r.kind.Children(); ok {
		watch = to(r.above, countChanges())
		err = errors.Join(err, watch(child.MachineAPIGVK()), watch(child.ClusterAPIGVK()))
	}
	return err
}

// once watches each kind a single time.
func once(watch func(schema.GroupVersionKind) error) func(schema.GroupVersionKind) error {
	var known sync.Map
	return func(gvk schema.GroupVersionKind) error {
		if _, already := known.LoadOrStore(gvk, true); already {
			return nil
		}
		err := watch(gvk)
		if err != nil {
			known.Delete(gvk)
		}
		return err
	}
}

// behind maps an object of either side to the Machine API object of its pair: of the same name, and for a provider's
// object whose mirror it is or who owns it.
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
