// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/poundlock/poundlock/internal/requeue"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies/controlplane"
)

func (r *reconciler) setup(mgr ctrl.Manager) error {
	c, err := controller.New("rollout", mgr, controller.Options{Reconciler: r, RateLimiter: requeue.Patient()})
	if err != nil {
		return err
	}
	for _, w := range []struct {
		object client.Object
		only   predicate.Predicate
	}{
		{object(setKind), predicate.NewPredicateFuncs(r.isSet)},
		{object(machineKind), predicate.And(predicate.NewPredicateFuncs(r.inNamespace), predicate.ResourceVersionChangedPredicate{})},
		{&corev1.Node{}, nodeChanged()},
		{object(configv1.GroupVersion.WithKind("Infrastructure")), predicate.ResourceVersionChangedPredicate{}},
		{object(operatorKind), predicate.NewPredicateFuncs(named(controlplane.OperatorName))},
	} {
		if err := c.Watch(source.Kind(mgr.GetCache(), w.object, handler.EnqueueRequestsFromMapFunc(r.all), w.only)); err != nil {
			return fmt.Errorf("watching %T %s: %w", w.object, w.object.GetObjectKind().GroupVersionKind(), err)
		}
	}
	// If no watched object exists, the ClusterOperator must still report this, so the first request needs no event.
	return c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(r.request())
		return nil
	}))
}

func (r *reconciler) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: r.pair.MachineAPI, Name: controlplane.Name}}
}

// all returns the request for the one set. For a Machine that does not concern the set it returns none, because a cluster may have thousands of workers.
func (r *reconciler) all(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetObjectKind().GroupVersionKind().Kind == machineKind.Kind && !r.concerns(ctx, o) {
		return nil
	}
	return []reconcile.Request{r.request()}
}

// concerns reports whether the set selects or owns a Machine. If there is no set, it reports whether a set could be generated from the Machine.
func (r *reconciler) concerns(ctx context.Context, o client.Object) bool {
	if slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.Kind == controlplane.Kind }) {
		return true
	}
	set, err := served.Get(ctx, r.cache, setKind, r.pair.MachineAPI, controlplane.Name)
	if err != nil || set == nil {
		return err != nil || controlplane.OfControlPlane(o.GetLabels())
	}
	content, _, _ := unstructured.NestedMap(set.Object, "spec", "selector")
	selector := metav1.LabelSelector{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content, &selector) != nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(&selector)
	return err == nil && s.Matches(labels.Set(o.GetLabels()))
}

func (r *reconciler) inNamespace(o client.Object) bool { return o.GetNamespace() == r.pair.MachineAPI }

func (r *reconciler) isSet(o client.Object) bool {
	return r.inNamespace(o) && o.GetName() == controlplane.Name
}

func named(name string) func(client.Object) bool {
	return func(o client.Object) bool { return o.GetName() == name }
}

// nodeChanged returns a predicate for Nodes of a control plane that are created or deleted, or that become ready or not ready. It skips other updates, because
// a kubelet reports every few seconds that nothing has changed.
func nodeChanged() predicate.Predicate {
	isOne := func(o client.Object) bool {
		return slices.ContainsFunc(controlplane.Roles(), func(role string) bool {
			_, is := o.GetLabels()[role]
			return is
		})
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return isOne(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return isOne(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return (isOne(e.ObjectOld) || isOne(e.ObjectNew)) && !reflect.DeepEqual(nodePart(e.ObjectOld), nodePart(e.ObjectNew))
		},
	}
}

// nodePart returns the part of a Node that a plan reads.
func nodePart(o client.Object) any {
	n, ok := o.(*corev1.Node)
	if !ok {
		return nil
	}
	var out []string
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			out = append(out, string(c.Status))
		}
	}
	for _, role := range controlplane.Roles() {
		if _, is := n.Labels[role]; is {
			out = append(out, role)
		}
	}
	return out
}
