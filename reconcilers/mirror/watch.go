// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/facts/pairfacts"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// setup starts the controller, and the watches that do not depend on the cluster's platform.
func (r *reconciler) setup(mgr ctrl.Manager, concurrency int) error {
	c, err := controller.New("mirror-"+strings.ToLower(r.kind.Name), mgr, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: concurrency, RateLimiter: requeue.Patient(),
	})
	if err != nil {
		return err
	}
	r.watcher = &served.Watcher{Controller: c, Cache: mgr.GetCache()}
	if err := r.watch(r.known()...); err != nil {
		return err
	}
	return c.Watch(served.Changes(mgr.GetCache(), func(ctx context.Context) []reconcile.Request { return r.woken().Everything(ctx, nil) }))
}

// known returns the watches that are needed on every platform.
func (r *reconciler) known() []watched {
	woken := r.woken()
	all := []watched{
		{r.kind.MachineAPIGVK(), woken.Same, nil}, {r.kind.ClusterAPIGVK(), woken.Same, nil},
		{pairs.InfrastructureKind, woken.Everything, nil}, {facts.ClusterKind, woken.Everything, predicate.GenerationChangedPredicate{}},
	}
	if parent, ok := authority.KindNamed(r.kind.Parent); ok {
		all = append(all, watched{parent.MachineAPIGVK(), woken.ChildrenOf, nil}, watched{parent.ClusterAPIGVK(), woken.ChildrenOf, nil})
	}
	if r.kind.Name == "Machine" {
		check, _ := authority.KindNamed("MachineHealthCheck")
		all = append(all, watched{r.kind.ClusterAPIGVK(), woken.Referred, nil})
		all = append(all, watched{r.kind.MachineAPIGVK(), woken.Masters, predicate.GenerationChangedPredicate{}})
		all = append(all, watched{check.ClusterAPIGVK(), woken.Marked, predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})})
	}
	return all
}

func (r *reconciler) woken() pairfacts.Woken {
	return pairfacts.Woken{Kind: r.kind, Pairs: r.facts.Pairs, Cache: r.facts.Cache}
}

// watched is a kind to watch, the pairs that an event of its objects requeues, and which changes matter; nil means all.
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

// watchPlatform watches the infrastructure kinds of the cluster's platform, once the platform is known.
func (r *reconciler) watchPlatform(p conversion.Platform) error {
	woken := r.woken()
	return r.watcher.Once(p.Name, func() error {
		all := []watched{
			{p.InfraCluster.GroupVersionKind, woken.Everything, infraClusterChanged()},
			{p.InfraMachine.GroupVersionKind, woken.Behind(p), nil},
			{p.InfraMachineTemplate.GroupVersionKind, woken.Behind(p), nil},
		}
		if r.kind.Infra == authority.InfraMachineTemplate {
			all = append(all, watched{r.kind.ClusterAPIGVK(), woken.LentTo(p), nil}, watched{facts.DeploymentKind, woken.LentTo(p), nil})
		}
		if !p.InfraInstance.Empty() && r.kind.Infra == authority.InfraMachine {
			all = append(all, watched{p.InfraInstance.GroupVersionKind, woken.InstanceOf, nil})
		}
		return r.watch(all...)
	})
}

// infraClusterChanged returns a predicate for changes of those parts of an infrastructure cluster object that conversions read: its spec, its annotations, and
// the parts of its status that rarely change. Users edit these parts too, as Poundlock's messages ask them to, and wait for the result.
func infraClusterChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, isOld := e.ObjectOld.(*unstructured.Unstructured)
		now, isNew := e.ObjectNew.(*unstructured.Unstructured)
		return isOld && isNew && mirroring.InfraClusterChanged(was, now)
	}})
}
