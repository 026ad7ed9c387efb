// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/metricsregistry"
	"github.com/poundlock/poundlock/internal/requeue"
)

// The indexes of Machines: controllerIndex by the UID of a Machine's controller (noController if there is none), setNodeIndex by the name of its Node.
const (
	controllerIndex = "machineset/controller"
	setNodeIndex    = "machineset/node"
	noController    = "none"
)

func (r *machineSets) watch(m manager.Manager, o Options) error {
	index := m.GetFieldIndexer()
	err := errors.Join(
		index.IndexField(context.Background(), &machinev1beta1.Machine{}, controllerIndex, controllerOf),
		index.IndexField(context.Background(), &machinev1beta1.Machine{}, setNodeIndex, nodeOf),
	)
	if err != nil {
		return fmt.Errorf("indexing Machines: %w", err)
	}
	return builder.ControllerManagedBy(m).Named("machineset").
		For(&machinev1beta1.MachineSet{}).
		Watches(&machinev1beta1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.setsOf), builder.WithPredicates(machineHealth())).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.setsOfNode), builder.WithPredicates(nodeHealth())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency, SkipNameValidation: &o.AnyName, RateLimiter: requeue.Patient()}).
		Complete(r.gated())
}

func controllerOf(o client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		return []string{string(owner.UID)}
	}
	return []string{noController}
}

func nodeOf(o client.Object) []string {
	if ref := o.(*machinev1beta1.Machine).Status.NodeRef; ref != nil {
		return []string{ref.Name}
	}
	return nil
}

// setsOf maps a Machine to its set, and a Machine without a controller to every set that might adopt it.
func (r *machineSets) setsOf(ctx context.Context, o client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		if owner.Kind != machineSetKind.Kind {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}}}
	}
	sets := &machinev1beta1.MachineSetList{}
	if err := r.List(ctx, sets, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for _, set := range sets.Items {
		selector, err := metav1.LabelSelectorAsSelector(&set.Spec.Selector)
		if err == nil && !selector.Empty() && selector.Matches(labels.Set(o.GetLabels())) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&set)})
		}
	}
	return out
}

func (r *machineSets) setsOfNode(ctx context.Context, o client.Object) []reconcile.Request {
	machines := &machinev1beta1.MachineList{}
	if err := r.List(ctx, machines, client.MatchingFields{setNodeIndex: o.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range machines.Items {
		if metav1.GetControllerOfNoCopy(&machines.Items[i]) != nil {
			out = append(out, r.setsOf(ctx, &machines.Items[i])...)
		}
	}
	return out
}

// setMeters counts the Machines that sets create, delete and adopt.
type setMeters struct{ writes *prometheus.CounterVec }

func newSetMeters() (setMeters, error) {
	writes, err := metricsregistry.Add(metrics.Registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "poundlock_machineset_writes_total", Help: "Machines that MachineSets have created, deleted, adopted or released, by verb and result.",
	}, []string{"verb", "result"}))
	return setMeters{writes}, err
}

func (m setMeters) count(verb string, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.writes.WithLabelValues(verb, result).Inc()
}
