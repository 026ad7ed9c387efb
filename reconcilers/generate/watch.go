// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// infrastructureName is the name of the only Infrastructure object of a cluster.
const infrastructureName = "cluster"

// setup starts the controller and watches everything that a set is made from. Each event requeues the one set.
func (r *reconciler) setup(mgr ctrl.Manager) error {
	c, err := controller.New("controlplane-generator", mgr, controller.Options{Reconciler: r, MaxConcurrentReconciles: 1, RateLimiter: requeue.Patient()})
	if err != nil {
		return err
	}
	watcher := &served.Watcher{Controller: c, Cache: mgr.GetCache()}
	ours := func(o client.Object) bool { return o.GetNamespace() == r.key.Namespace }
	for gvk, w := range map[schema.GroupVersionKind]watched{
		machinev1.GroupVersion.WithKind(controlplane.Kind): {where: func(o client.Object) bool { return client.ObjectKeyFromObject(o) == r.key }},
		machinev1beta1.GroupVersion.WithKind("Machine"):    {where: func(o client.Object) bool { return ours(o) && controlplane.OfControlPlane(o.GetLabels()) }},
		machinev1beta1.GroupVersion.WithKind("MachineSet"): {where: ours, only: []predicate.Predicate{predicate.GenerationChangedPredicate{}}},
		configv1.GroupVersion.WithKind("Infrastructure"):   {where: func(o client.Object) bool { return o.GetName() == infrastructureName }},
	} {
		if err := watcher.Watch(gvk, r.theSet(w.where), w.only...); err != nil {
			return err
		}
	}
	return c.Watch(served.Changes(mgr.GetCache(), func(context.Context) []reconcile.Request { return []reconcile.Request{{NamespacedName: r.key}} }))
}

// watched selects the objects of a kind whose events matter, and the changes that matter.
type watched struct {
	where func(client.Object) bool
	only  []predicate.Predicate
}

// theSet returns a function that maps each interesting object to the request for the one set.
func (r *reconciler) theSet(interesting func(client.Object) bool) handler.MapFunc {
	return func(_ context.Context, o client.Object) []reconcile.Request {
		if !interesting(o) {
			return nil
		}
		return []reconcile.Request{{NamespacedName: r.key}}
	}
}
