// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/metricsregistry"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/machine/health"
)

// healthNodeIndex is the index by which health checks find the Machines of a Node.
const healthNodeIndex = "machinehealthcheck/node"

func (r *healthChecks) watch(m manager.Manager, o Options) error {
	if err := m.GetFieldIndexer().IndexField(context.Background(), &machinev1beta1.Machine{}, healthNodeIndex, nodeOf); err != nil {
		return fmt.Errorf("indexing Machines: %w", err)
	}
	checks := &unstructured.Unstructured{}
	checks.SetGroupVersionKind(healthCheckKind)
	return builder.ControllerManagedBy(m).Named("machinehealthcheck").
		For(checks).
		Watches(&machinev1beta1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.checksOf), builder.WithPredicates(machineHealth())).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.checksOfNode), builder.WithPredicates(nodeHealth())).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency, SkipNameValidation: &o.AnyName, RateLimiter: requeue.Patient()}).
		Complete(r.gated())
}

// checksOf maps a Machine to the checks that select it.
func (r *healthChecks) checksOf(ctx context.Context, o client.Object) []reconcile.Request {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(healthCheckKind.GroupVersion().WithKind(healthCheckKind.Kind + "List"))
	if err := r.checks.List(ctx, l, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range l.Items {
		if selects(&l.Items[i], o) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&l.Items[i])})
		}
	}
	return out
}

func selects(check *unstructured.Unstructured, o client.Object) bool {
	content, _, _ := unstructured.NestedMap(check.Object, "spec", "selector")
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &s); err != nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	return err == nil && selector.Matches(labels.Set(o.GetLabels()))
}

func (r *healthChecks) checksOfNode(ctx context.Context, o client.Object) []reconcile.Request {
	machines := &machinev1beta1.MachineList{}
	if err := r.List(ctx, machines, client.MatchingFields{healthNodeIndex: o.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range machines.Items {
		out = append(out, r.checksOf(ctx, &machines.Items[i])...)
	}
	return out
}

// nodeHealth selects the Node updates that may change a verdict or a number. It is needed because a Node reports every few minutes that nothing has changed.
func nodeHealth() predicate.Predicate {
	return changed(func(o client.Object) any {
		var out []corev1.NodeCondition
		for _, c := range o.(*corev1.Node).Status.Conditions {
			out = append(out, corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		}
		return out
	})
}

// machineHealth selects the Machine updates that may change a verdict, a number, or the set and the API to which the Machine belongs. It is needed because the
// Machine's controllers write to the Machine far more often.
func machineHealth() predicate.Predicate {
	return changed(func(o client.Object) any {
		m := o.(*machinev1beta1.Machine)
		return []any{
			m.Labels, m.Annotations, m.OwnerReferences, m.DeletionTimestamp, m.Status.Phase, m.Status.NodeRef, m.Status.ErrorMessage, m.Status.AuthoritativeAPI,
		}
	})
}

func changed(of func(client.Object) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return !reflect.DeepEqual(of(e.ObjectOld), of(e.ObjectNew)) }}
}

// healthMeters are the metrics about MachineHealthChecks. They have the Machine API's published names, which dashboards and alerts use.
type healthMeters struct {
	covered, shortCircuit *prometheus.GaugeVec
	remediations          *prometheus.CounterVec
}

func newHealthMeters() (healthMeters, error) {
	var m healthMeters
	var errs [3]error
	by := []string{"name", "namespace"}
	m.covered, errs[0] = metricsregistry.Add(metrics.Registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "mapi_machinehealthcheck_nodes_covered", Help: "Machines that a MachineHealthCheck selects.",
	}, by))
	m.shortCircuit, errs[1] = metricsregistry.Add(metrics.Registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "mapi_machinehealthcheck_short_circuit",
		Help: "1 while a MachineHealthCheck remediates nothing because more Machines than spec.maxUnhealthy are not healthy, else 0.",
	}, by))
	m.remediations, errs[2] = metricsregistry.Add(metrics.Registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mapi_machinehealthcheck_remediation_success_total", Help: "Remediations that a MachineHealthCheck has started.",
	}, by))
	return m, errors.Join(errs[:]...)
}

func (m healthMeters) judged(check client.Object, j health.Judgement) {
	m.covered.WithLabelValues(check.GetName(), check.GetNamespace()).Set(float64(j.Expected))
	short := 0.0
	if j.Restricted() {
		short = 1
	}
	m.shortCircuit.WithLabelValues(check.GetName(), check.GetNamespace()).Set(short)
}

func (m healthMeters) remediated(check client.Object) {
	m.remediations.WithLabelValues(check.GetName(), check.GetNamespace()).Inc()
}

// forget deletes the metrics of a check that is gone. Otherwise an alert on them would never end.
func (m healthMeters) forget(key types.NamespacedName) {
	m.covered.DeleteLabelValues(key.Name, key.Namespace)
	m.shortCircuit.DeleteLabelValues(key.Name, key.Namespace)
	m.remediations.DeleteLabelValues(key.Name, key.Namespace)
}
