// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/policies/authority"
)

func (r *reconciler) setup(mgr ctrl.Manager) error {
	c, err := controller.New("remediation", mgr, controller.Options{Reconciler: r, RateLimiter: requeue.Patient()})
	if err != nil {
		return err
	}
	for _, w := range []struct {
		object client.Object
		to     handler.MapFunc
		only   predicate.Predicate
	}{
		{of(checkKind().MachineAPIGVK()), r.same, predicate.ResourceVersionChangedPredicate{}},
		{of(checkKind().ClusterAPIGVK()), r.same, predicate.ResourceVersionChangedPredicate{}},
		{of(machineKind().MachineAPIGVK()), r.checks, changed(machineHealth)},
		{of(machineKind().ClusterAPIGVK()), r.checks, changed(machineHealth)},
		{of(setKind().MachineAPIGVK()), r.checks, changed(setAuthority)},
		{of(setKind().ClusterAPIGVK()), r.checks, changed(setAuthority)},
		{of(facts.ClusterKind), r.checks, changed(func(o client.Object) any { return facts.ClusterPaused(o) })},
		{&corev1.Node{}, r.checks, changed(nodeHealth)},
	} {
		if err := c.Watch(source.Kind(mgr.GetCache(), w.object, handler.EnqueueRequestsFromMapFunc(w.to), w.only)); err != nil {
			return fmt.Errorf("watching %T %s: %w", w.object, w.object.GetObjectKind().GroupVersionKind(), err)
		}
	}
	return nil
}

func of(gvk schema.GroupVersionKind) client.Object {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	return o
}

// same returns the request for the pair with the name of a check, of either API.
func (r *reconciler) same(_ context.Context, o client.Object) []reconcile.Request {
	pair, ok := r.pairs.Of(o.GetNamespace())
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pair.MachineAPI, Name: o.GetName()}}}
}

// checks returns the requests for the checks that an object affects: for a Machine, MachineSet or Cluster those of its pair, for a Node, which has no
// namespace, those of all pairs. It returns only checks for which Cluster API is authoritative. There are few checks.
func (r *reconciler) checks(ctx context.Context, o client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, pair := range r.pairs {
		if ns := o.GetNamespace(); ns != "" && ns != pair.MachineAPI && ns != pair.ClusterAPI {
			continue
		}
		found, err := all(ctx, r.cache, checkKind().MachineAPIGVK(), pair.MachineAPI)
		if err != nil {
			continue // the cache has not started yet; its first list requeues all checks
		}
		for name, check := range found {
			if current, _, _ := unstructured.NestedString(check.Object, "status", "authoritativeAPI"); current == string(authority.ClusterAPI) {
				out = append(out, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: pair.MachineAPI, Name: name}})
			}
		}
	}
	return out
}

// changed returns a predicate for updates after which the result of the function "of" differs: updates that affect a verdict, or that affect which controller
// acts on it.
func changed(of func(client.Object) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return !reflect.DeepEqual(of(e.ObjectOld), of(e.ObjectNew)) }}
}

func machineHealth(o client.Object) any {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	parts := []any{u.GetLabels(), u.GetAnnotations(), u.GetOwnerReferences(), u.GetDeletionTimestamp()}
	status, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status")
	if fields, ok := status.(map[string]any); ok {
		parts = append(parts, fields["phase"], fields["nodeRef"], fields["errorMessage"], fields["authoritativeAPI"])
		for _, kind := range []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition} { // see givenUp
			c := conditionlist.Find(conditionlist.Of(u), kind)
			parts = append(parts, c["status"], c["lastTransitionTime"])
		}
	}
	return parts
}

// setAuthority returns what decides which API's controller replaces the Machines of a MachineSet.
func setAuthority(o client.Object) any {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	current, _, _ := unstructured.NestedString(u.Object, "status", "authoritativeAPI")
	return []any{current, paused(u), u.GetDeletionTimestamp()}
}

// nodeHealth returns a Node's conditions without the time at which the Node last reported that nothing has changed.
func nodeHealth(o client.Object) any {
	n, ok := o.(*corev1.Node)
	if !ok {
		return nil
	}
	var conditions []corev1.NodeCondition
	for _, c := range n.Status.Conditions {
		conditions = append(conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
	}
	return conditions
}
