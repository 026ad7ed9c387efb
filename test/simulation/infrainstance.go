// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine/machinetest"
)

// infraInstance is the second controller of a provider that has one. It acts on the object that the machine controller keeps for each instance. It calls the
// cloud, and obeys only the pause of this object.
type infraInstance struct {
	client.Client
	machines *infraMachine
}

func addInfraInstance(m manager.Manager, machines *infraMachine) error {
	r := &infraInstance{Client: m.GetClient(), machines: machines}
	return ctrl.NewControllerManagedBy(m).Named(strings.ToLower(machines.platform.instance.Kind)).For(machines.kept()).
		Watches(machines.object(), handler.EnqueueRequestsFromMapFunc(sameName)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(everyIn(r, r.list))).
		Complete(quietly(r.reconcile))
}

// sameName maps a provider's machine to the object that is kept for its instance, and back.
func sameName(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
}

func (r *infraInstance) list() client.ObjectList {
	l := &unstructured.UnstructuredList{}
	gvk := r.machines.platform.instance.GroupVersionKind
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return l
}

func (r *infraMachine) kept() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.platform.instance.GroupVersionKind)
	return u
}

// keeps reports whether the provider keeps an object for each instance.
func (p platform) keeps() bool { return !p.instance.Empty() }

// keptFinalizer returns the finalizer that the provider puts on such an object.
func (p platform) keptFinalizer() string {
	return strings.ToLower(p.instance.Kind) + "." + p.instance.Group
}

func (r *infraInstance) reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	o := r.machines.kept()
	if err := r.Get(ctx, key.NamespacedName, o); err != nil {
		return reconcile.Result{}, err
	}
	if r.machines.platform.HoldsFirst {
		if added, err := ensureFinalizer(ctx, r, o, r.machines.platform.keptFinalizer()); err != nil || added {
			return reconcile.Result{}, err
		}
	}
	cluster, err := clusterOf(ctx, r, o.GetNamespace(), o.GetLabels()[clusterv1.ClusterNameLabel])
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err != nil {
		cluster = &clusterv1.Cluster{} // a Cluster that is gone pauses nothing
	}
	cause := why(cluster, o, o.GetKind())
	if changed, err := r.machines.acknowledge(ctx, o, cause); err != nil || changed || cause != "" {
		return reconcile.Result{}, err
	}
	if o.GetDeletionTimestamp() != nil {
		return r.remove(ctx, o)
	}
	if added, err := ensureFinalizer(ctx, r, o, r.machines.platform.keptFinalizer()); err != nil || added {
		return reconcile.Result{}, err
	}
	return r.provision(ctx, o)
}

// provision finds the instance of a machine that has one, or launches one, and stores its ID. The real providers find the instance by its name.
func (r *infraInstance) provision(ctx context.Context, o *unstructured.Unstructured) (reconcile.Result, error) {
	infra := r.machines.object()
	if err := r.Get(ctx, client.ObjectKeyFromObject(o), infra); err != nil {
		return reconcile.Result{}, err
	}
	owner, err := r.machines.owner(ctx, infra)
	if err != nil || owner == nil {
		return reconcile.Result{}, err
	}
	id := r.id(o)
	if id == "" {
		id = r.machines.named(infra)
	}
	if id == "" {
		i, err := r.machines.cloud.Launch(ctx, madeFor(owner, infra), r.machines.order(owner, infra, string(o.GetUID())))
		if err != nil {
			return reconcile.Result{}, err
		}
		return again, r.report(ctx, o, i) // at once: the instance would be left behind if the object were deleted before the ID is stored
	}
	i, err := r.machines.cloud.Describe(ctx, madeFor(owner, infra), machinetest.Key{ID: id})
	if machinetest.IsNotFound(err) {
		return again, nil // the cloud lists a new instance only after a moment
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.report(ctx, o, i); err != nil || i.State != machinetest.Pending {
		return reconcile.Result{}, err
	}
	return again, nil
}

func (r *infraInstance) report(ctx context.Context, o *unstructured.Unstructured, i machinetest.Instance) error {
	at, before := r.machines.platform.KeptID, o.DeepCopy()
	if strings.HasPrefix(at, "spec.") {
		set(o, i.ID, at)
		if _, err := versioned.PatchFrom(ctx, r, before, o); err != nil {
			return err
		}
		before = o.DeepCopy()
	} else {
		set(o, i.ID, at)
		set(o, r.machines.platform.actuator.Word(i.State), r.machines.platform.State)
	}
	set(o, i.State == machinetest.Running, "status.ready")
	_, err := versioned.PatchStatusFrom(ctx, r, before, o)
	return err
}

func (r *infraInstance) id(o *unstructured.Unstructured) string {
	return text(o, r.machines.platform.KeptID)
}

// remove terminates the instance, whether or not the object's owner still exists. It waits until the instance is gone, and removes the finalizer.
func (r *infraInstance) remove(ctx context.Context, o *unstructured.Unstructured) (reconcile.Result, error) {
	finalizer := r.machines.platform.keptFinalizer()
	if !controllerutil.ContainsFinalizer(o, finalizer) {
		return reconcile.Result{}, nil
	}
	id, err := r.known(ctx, o)
	if err != nil {
		return reconcile.Result{}, err
	}
	key := machinetest.Key{ID: id}
	if id == "" {
		key.Token = string(o.GetUID())
	}
	asker := machinetest.Machine{Namespace: o.GetNamespace(), Name: o.GetName(), UID: ownerUID(o)}
	switch i, err := r.machines.cloud.Describe(ctx, asker, key); {
	case machinetest.IsNotFound(err):
	case err != nil:
		return reconcile.Result{}, err
	case !i.Gone() && i.State != machinetest.ShuttingDown:
		return again, r.machines.cloud.Terminate(ctx, asker, i.ID)
	case !i.Gone():
		return again, nil
	}
	before := o.DeepCopy()
	controllerutil.RemoveFinalizer(o, finalizer)
	_, err = versioned.PatchFrom(ctx, r, before, o)
	return reconcile.Result{}, err
}

// known returns the instance's ID, if it is stored anywhere; else "".
func (r *infraInstance) known(ctx context.Context, o *unstructured.Unstructured) (string, error) {
	if id := r.id(o); id != "" {
		return id, nil
	}
	infra := r.machines.object()
	err := r.Get(ctx, client.ObjectKeyFromObject(o), infra)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return r.machines.named(infra), err
}

func ownerUID(o *unstructured.Unstructured) types.UID {
	for _, ref := range o.GetOwnerReferences() {
		return ref.UID
	}
	return ""
}

// keptInstance returns the instance for which the provider's machine controller keeps an object. It creates that object if it is missing.
func (r *infraMachine) keptInstance(ctx context.Context, owner *clusterv1.Machine, a *unstructured.Unstructured) (machinetest.Instance, bool, error) {
	kept := r.kept()
	err := r.Get(ctx, client.ObjectKeyFromObject(a), kept)
	if apierrors.IsNotFound(err) {
		if err := r.bootstrapData(ctx, owner); err != nil {
			return machinetest.Instance{}, false, err
		}
		return machinetest.Instance{}, false, client.IgnoreAlreadyExists(r.Create(ctx, r.keep(owner, a)))
	}
	id := text(kept, r.platform.KeptID)
	if err != nil || id == "" {
		return machinetest.Instance{}, false, err
	}
	i, err := r.cloud.Describe(ctx, madeFor(owner, a), machinetest.Key{ID: id})
	if machinetest.IsNotFound(err) {
		return i, false, nil
	}
	return i, err == nil, err
}

// keep returns the object that a provider's machine controller creates for an instance.
func (r *infraMachine) keep(owner *clusterv1.Machine, a *unstructured.Unstructured) *unstructured.Unstructured {
	o := r.kept()
	o.SetNamespace(a.GetNamespace())
	o.SetName(a.GetName())
	o.SetLabels(map[string]string{clusterv1.ClusterNameLabel: owner.Spec.ClusterName})
	_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{
		"apiVersion": a.GetAPIVersion(), "kind": a.GetKind(), "name": a.GetName(), "uid": string(a.GetUID()),
	}}, "metadata", "ownerReferences")
	spec, _, _ := unstructured.NestedMap(a.Object, "spec")
	set(o, r.platform.KeptSpec(spec), "spec")
	return o
}

// keptGone deletes the object that is kept for the instance, and reports whether it is gone.
func (r *infraMachine) keptGone(ctx context.Context, a *unstructured.Unstructured) (bool, error) {
	kept := r.kept()
	err := r.Get(ctx, client.ObjectKeyFromObject(a), kept)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil || kept.GetDeletionTimestamp() != nil {
		return false, err
	}
	return false, client.IgnoreNotFound(r.Delete(ctx, kept))
}
