// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/status"
	"github.com/poundlock/poundlock/policies/authority"
)

// setup starts the controller and watches what is known without the cluster's platform.
func (r *reconciler) setup(mgr ctrl.Manager, concurrency int) error {
	c, err := controller.New("mirror-"+strings.ToLower(r.kind.Name), mgr, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: concurrency, RateLimiter: requeue.Patient(),
	})
	if err != nil {
		return err
	}
	r.watcher = &served.Watcher{Controller: c, Cache: mgr.GetCache()}
	all := []watched{
		{r.kind.MachineAPIGVK(), r.named(same), nil}, {r.kind.ClusterAPIGVK(), r.named(same), nil},
		{pairs.InfrastructureKind, r.everything, nil}, {facts.ClusterKind, r.everything, specChanged()},
	}
	if parent, ok := authority.KindNamed(r.kind.Parent); ok {
		all = append(all, watched{parent.MachineAPIGVK(), r.childrenOf, nil}, watched{parent.ClusterAPIGVK(), r.childrenOf, nil})
	}
	if r.kind.Name == "Machine" {
		check, _ := authority.KindNamed("MachineHealthCheck")
		all = append(all, watched{check.ClusterAPIGVK(), r.marked, predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})})
	}
	if err := r.watch(all...); err != nil {
		return err
	}
	return c.Watch(served.Changes(mgr.GetCache(), func(ctx context.Context) []reconcile.Request { return r.everything(ctx, nil) }))
}

// watched is a kind, the pairs that its objects wake, and which of their changes do; nil: all.
type watched struct {
	kind schema.GroupVersionKind
	to   handler.MapFunc
	only predicate.Predicate
}

func (r *reconciler) watch(all ...watched) error {
	for _, w := range all {
		if err := r.watcher.Watch(w.kind, w.to, w.only); err != nil {
			return err
		}
	}
	return nil
}

// watchPlatform watches the infrastructure kinds of the cluster's platform, once it is known which that is.
func (r *reconciler) watchPlatform(p conversion.Platform) error {
	return r.watcher.Once(p.Name, func() error {
		all := []watched{
			{p.InfraCluster.GroupVersionKind, r.everything, infraClusterChanged()},
			{p.InfraMachine.GroupVersionKind, r.behind(p), nil},
			{p.InfraMachineTemplate.GroupVersionKind, r.behind(p), nil},
		}
		if !p.InfraInstance.Empty() && r.kind.Infra == authority.InfraMachine {
			all = append(all, watched{p.InfraInstance.GroupVersionKind, r.named(instanceOf), nil})
		}
		return r.watch(all...)
	})
}

// specChanged lets through what conversions read: the spec of a cluster's objects, not the status that moves all day.
func specChanged() predicate.Predicate { return predicate.GenerationChangedPredicate{} }

// infraClusterChanged lets through what conversions read of an infrastructure cluster object: beside the spec its annotations, and what in its status does
// not move all day. A person writes these too, as messages ask, and waits for the answer.
func infraClusterChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, isOld := e.ObjectOld.(*unstructured.Unstructured)
		now, isNew := e.ObjectNew.(*unstructured.Unstructured)
		return isOld && isNew && mirroring.InfraClusterChanged(was, now)
	}})
}

// named maps objects to the pairs of these names, in the pair of their namespaces.
func (r *reconciler) named(names func(o client.Object) []string) handler.MapFunc {
	return func(_ context.Context, o client.Object) (out []reconcile.Request) {
		for _, name := range names(o) {
			out = append(out, r.request(o.GetNamespace(), name)...)
		}
		return out
	}
}

// same maps an object to the pair of its name.
func same(o client.Object) []string { return []string{o.GetName()} }

// instanceOf maps what a provider keeps for an instance.
func instanceOf(o client.Object) []string {
	return mirroring.OfInfraInstance(o.GetObjectKind().GroupVersionKind().Kind, o)
}

func (r *reconciler) request(namespace, name string) []reconcile.Request {
	pair, ok := r.pairs.Of(namespace)
	if !ok || name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key{Namespace: pair.MachineAPI, Name: name}}}
}

// those are the pairs of the objects of a kind in a namespace that are wanted. Where the cache is not there yet, its first list maps them all.
func (r *reconciler) those(ctx context.Context, gvk schema.GroupVersionKind, namespace string, wanted func(*unstructured.Unstructured) bool) (
	out []reconcile.Request) {
	found, err := served.List(ctx, r.cache, gvk, namespace, uncopied)
	if err != nil {
		return nil
	}
	for _, o := range found {
		if wanted(o) {
			out = append(out, r.request(namespace, o.GetName())...)
		}
	}
	return out
}

// each are those of both sides of a pair.
func (r *reconciler) each(ctx context.Context, pair authority.Pair, wanted func(*unstructured.Unstructured) bool) []reconcile.Request {
	return append(r.those(ctx, r.kind.MachineAPIGVK(), pair.MachineAPI, wanted), r.those(ctx, r.kind.ClusterAPIGVK(), pair.ClusterAPI, wanted)...)
}

// marked maps a check of Cluster API's, which may act no longer, to the Machines that one has marked.
func (r *reconciler) marked(ctx context.Context, check client.Object) []reconcile.Request {
	return r.those(ctx, r.kind.ClusterAPIGVK(), check.GetNamespace(), status.Marked)
}

// everything maps what all conversions depend on to every pair. It changes rarely.
func (r *reconciler) everything(ctx context.Context, _ client.Object) (out []reconcile.Request) {
	for _, pair := range r.pairs {
		out = append(out, r.each(ctx, pair, func(*unstructured.Unstructured) bool { return true })...)
	}
	return out
}

// childrenOf maps a MachineSet, on either side, to the pairs that it owns: their owner has come, gone or changed hands.
func (r *reconciler) childrenOf(ctx context.Context, parent client.Object) []reconcile.Request {
	pair, ok := r.pairs.Of(parent.GetNamespace())
	if !ok {
		return nil
	}
	return r.each(ctx, pair, func(o *unstructured.Unstructured) bool {
		ref := pairs.ControllerOf(o)
		return ref != nil && ref.Kind == r.kind.Parent && ref.Name == parent.GetName()
	})
}

// behind maps an infrastructure object to the pairs whose it is or was.
func (r *reconciler) behind(p conversion.Platform) handler.MapFunc {
	return func(ctx context.Context, o client.Object) (out []reconcile.Request) {
		names, template := mirroring.OfInfra(r.kind, o.GetObjectKind().GroupVersionKind().Kind == p.InfraMachine.Kind, o)
		for _, name := range names {
			out = append(out, r.request(o.GetNamespace(), name)...)
		}
		if template != "" {
			out = append(out, r.usersOf(ctx, o.GetNamespace(), template, p)...)
		}
		return out
	}
}

// usersOf are the pairs that refer to a template now, and the one that the mirror made it for.
func (r *reconciler) usersOf(ctx context.Context, namespace, template string, p conversion.Platform) []reconcile.Request {
	ref := (&pairs.State{Kind: r.kind}).InfraRef()
	out := r.those(ctx, r.kind.ClusterAPIGVK(), namespace, func(o *unstructured.Unstructured) bool { return pairs.Nested(o, ref...) == template })
	// The label is a shortened name where the set's is too long for it.
	if t, err := served.Read(ctx, r.cache, p.InfraMachineTemplate.GroupVersionKind, namespace, template); err == nil && t != nil {
		out = append(out, r.request(namespace, mirroring.MadeFor(r.kind, t))...)
	}
	return out
}
