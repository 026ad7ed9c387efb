// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
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
		{r.kind.MachineAPIGVK(), r.same, nil}, {r.kind.ClusterAPIGVK(), r.same, nil},
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
		var only []predicate.Predicate
		if w.only != nil {
			only = append(only, w.only)
		}
		if err := r.watcher.Watch(w.kind, w.to, only...); err != nil {
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
			all = append(all, watched{p.InfraInstance.GroupVersionKind, r.instanceOf, nil})
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
		if !maps.Equal(personsAnnotations(e.ObjectOld), personsAnnotations(e.ObjectNew)) {
			return true
		}
		was, isOld := e.ObjectOld.(*unstructured.Unstructured)
		now, isNew := e.ObjectNew.(*unstructured.Unstructured)
		return isOld && isNew && slices.ContainsFunc([]string{"failureDomains", "network", "serviceInstance", "loadBalancers"}, func(field string) bool {
			old, _, _ := unstructured.NestedFieldNoCopy(was.Object, "status", field)
			current, _, _ := unstructured.NestedFieldNoCopy(now.Object, "status", field)
			return !equality.Semantic.DeepEqual(old, current)
		})
	}})
}

// personsAnnotations are all but the mark of the surroundings, which Poundlock itself changes while a fleet is scaled.
func personsAnnotations(o client.Object) map[string]string {
	all := maps.Clone(o.GetAnnotations())
	delete(all, authority.HoldsMirrorsAnnotation)
	return all
}

// instanceOf maps what a provider keeps for an instance to the pair of its own name, and of its machine's: one of the two has the pair's.
func (r *reconciler) instanceOf(_ context.Context, o client.Object) []reconcile.Request {
	out := r.request(o.GetNamespace(), o.GetName())
	for _, ref := range o.GetOwnerReferences() {
		if ref.Name != o.GetName() && authority.OwnsInfraInstance(o.GetObjectKind().GroupVersionKind().Kind, ref) {
			out = append(out, r.request(o.GetNamespace(), ref.Name)...)
		}
	}
	return out
}

// same maps an object to the pair of its name.
func (r *reconciler) same(_ context.Context, o client.Object) []reconcile.Request {
	return r.request(o.GetNamespace(), o.GetName())
}

func (r *reconciler) request(namespace, name string) []reconcile.Request {
	pair, ok := r.pairs.Of(namespace)
	if !ok || name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key{Namespace: pair.MachineAPI, Name: name}}}
}

// marked maps a check of Cluster API's, which may act no longer, to the Machines that one has marked.
func (r *reconciler) marked(ctx context.Context, check client.Object) []reconcile.Request {
	found, err := served.List(ctx, r.cache, r.kind.ClusterAPIGVK(), check.GetNamespace(), uncopied)
	if err != nil {
		return nil // the cache is not there yet; its first list maps them all
	}
	var out []reconcile.Request
	for _, o := range found {
		if status.Marked(o) {
			out = append(out, r.request(o.GetNamespace(), o.GetName())...)
		}
	}
	return out
}

// everything maps what all conversions depend on to every pair. It changes rarely.
func (r *reconciler) everything(ctx context.Context, _ client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, pair := range r.pairs {
		for namespace, gvk := range map[string]schema.GroupVersionKind{pair.MachineAPI: r.kind.MachineAPIGVK(), pair.ClusterAPI: r.kind.ClusterAPIGVK()} {
			found, err := served.List(ctx, r.cache, gvk, namespace, uncopied)
			if err != nil {
				continue // the cache is not there yet; its first list maps them all
			}
			for _, o := range found {
				out = append(out, r.request(namespace, o.GetName())...)
			}
		}
	}
	return out
}

// childrenOf maps a MachineSet, on either side, to the pairs that it owns: their owner has come, gone or changed hands.
func (r *reconciler) childrenOf(ctx context.Context, parent client.Object) []reconcile.Request {
	pair, ok := r.pairs.Of(parent.GetNamespace())
	if !ok {
		return nil
	}
	var out []reconcile.Request
	for namespace, gvk := range map[string]schema.GroupVersionKind{pair.MachineAPI: r.kind.MachineAPIGVK(), pair.ClusterAPI: r.kind.ClusterAPIGVK()} {
		found, err := served.List(ctx, r.cache, gvk, namespace, uncopied)
		if err != nil {
			continue
		}
		for _, o := range found {
			if ref := pairs.ControllerOf(o); ref != nil && ref.Kind == r.kind.Parent && ref.Name == parent.GetName() {
				out = append(out, r.request(namespace, o.GetName())...)
			}
		}
	}
	return out
}

// behind maps an infrastructure object to the pairs whose it is or was: by the mirror's mark, by its owner, by the
// template that it was made from, and by who refers to it; a machine also to the pair of its name.
func (r *reconciler) behind(p conversion.Platform) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		var out []reconcile.Request
		if kind, name, ok := strings.Cut(o.GetAnnotations()[authority.MirrorAnnotation], "/"); ok && kind == r.kind.Name {
			out = append(out, r.request(o.GetNamespace(), name)...)
		}
		for _, ref := range o.GetOwnerReferences() {
			if ref.Kind == r.kind.Name {
				out = append(out, r.request(o.GetNamespace(), ref.Name)...)
			}
		}
		template := o.GetName()
		if o.GetObjectKind().GroupVersionKind().Kind == p.InfraMachine.Kind {
			if r.kind.Infra == authority.InfraMachine { // nobody's yet, it stands in the way of the one of its name
				out = append(out, r.request(o.GetNamespace(), o.GetName())...)
			}
			template = o.GetAnnotations()[clonedFromAnnotation]
		}
		if r.kind.Infra == authority.InfraMachineTemplate && template != "" {
			out = append(out, r.usersOf(ctx, o.GetNamespace(), template, p)...)
		}
		return out
	}
}

// usersOf are the pairs that refer to a template now, and the one that the mirror made it for.
func (r *reconciler) usersOf(ctx context.Context, namespace, template string, p conversion.Platform) []reconcile.Request {
	var out []reconcile.Request
	found, err := served.List(ctx, r.cache, r.kind.ClusterAPIGVK(), namespace, uncopied)
	if err != nil {
		return nil
	}
	for _, o := range found {
		if s := (&pairs.State{Kind: r.kind}); pairs.Nested(o, s.InfraRef()...) == template {
			out = append(out, r.request(namespace, o.GetName())...)
		}
	}
	t, err := served.Read(ctx, r.cache, p.InfraMachineTemplate.GroupVersionKind, namespace, template)
	if err == nil && t != nil {
		// The label is a shortened name where the set's is too long for it.
		if set, made := strings.CutPrefix(t.GetAnnotations()[authority.MirrorAnnotation], r.kind.Name+"/"); made {
			out = append(out, r.request(namespace, set)...)
		}
	}
	return out
}
