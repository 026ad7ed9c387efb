// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanemirror

import (
	"context"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// watched is a kind that a pass reads, with the predicate for the events that matter.
type watched struct {
	kind schema.GroupVersionKind
	only predicate.Predicate
}

// setup starts the controller, and the watches that do not depend on the cluster's platform.
func (r *reconciler) setup(mgr ctrl.Manager) error {
	c, err := controller.New("reflection", mgr, controller.Options{Reconciler: r, RateLimiter: requeue.Patient()})
	if err != nil {
		return err
	}
	r.watcher = &served.Watcher{Controller: c, Cache: mgr.GetCache()}
	machine, _ := authority.KindNamed("Machine")
	return r.watch(
		watched{setKind, named(controlplane.Name)},
		watched{machine.MachineAPIGVK(), masterChanged()},
		watched{configv1.GroupVersion.WithKind("Infrastructure"), predicate.ResourceVersionChangedPredicate{}},
		watched{clusterKind, predicate.GenerationChangedPredicate{}},
		watched{machineSetKind, ended()},
		watched{facts.DeploymentKind, predicate.GenerationChangedPredicate{}},
	)
}

func (r *reconciler) watch(kinds ...watched) error {
	for _, w := range kinds {
		if err := r.watcher.Watch(w.kind, r.sets, w.only); err != nil {
			return err
		}
	}
	return nil
}

// watchPlatform watches the infrastructure kinds of the cluster's platform, once the platform is known. Of a machine only its deletion matters, because the
// template from which it was made may then be deleted.
func (r *reconciler) watchPlatform(p conversion.Platform) error {
	return r.watcher.Once(p.Name, func() error {
		return r.watch(
			watched{p.InfraCluster.GroupVersionKind, predicate.ResourceVersionChangedPredicate{}},
			watched{p.InfraMachineTemplate.GroupVersionKind, predicate.ResourceVersionChangedPredicate{}},
			watched{p.InfraMachine.GroupVersionKind, ended()},
		)
	})
}

// sets returns the request for the set of an object's pair. For an object without a namespace it returns those for the sets of all pairs.
func (r *reconciler) sets(_ context.Context, o client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, pair := range r.pairs {
		if ns := o.GetNamespace(); ns == "" || ns == pair.MachineAPI || ns == pair.ClusterAPI {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: pair.MachineAPI, Name: controlplane.Name}})
		}
	}
	return out
}

func named(name string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == name })
}

// masterChanged returns a predicate for changes of the spec of a control plane Machine. A message about the set names what all these Machines need in the
// infrastructure cluster object.
func masterChanged() predicate.Predicate {
	return predicate.And(predicate.GenerationChangedPredicate{},
		predicate.NewPredicateFuncs(func(o client.Object) bool { return authority.OfControlPlane(o.GetLabels()) }))
}

// ended returns a predicate for only one event: the object is gone.
func ended() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
}
