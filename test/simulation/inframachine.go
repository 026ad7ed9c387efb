// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/internal/versioned"
	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
)

// infraMachine is a provider's machine controller. Of Cluster API's controllers it is the one that calls the cloud.
type infraMachine struct {
	client.Client
	platform platform
	// live reads Secrets past the cache. Each is read once, so a watch is not worth it.
	live  client.Reader
	cloud machinetest.API
}

func addInfraMachine(m manager.Manager, o Options) error {
	p, err := platformNamed(o.Platform)
	if err != nil {
		return err
	}
	r := &infraMachine{Client: m.GetClient(), platform: p, live: m.GetAPIReader(), cloud: o.Cloud.As(authority.ClusterAPI)}
	c := ctrl.NewControllerManagedBy(m).Named(strings.ToLower(p.infra.Kind)).For(r.object()).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(infraOf)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(everyIn(r, r.list)))
	if p.keeps() {
		c = c.Watches(r.kept(), handler.EnqueueRequestsFromMapFunc(sameName))
		if err := addInfraInstance(m, r); err != nil {
			return err
		}
	}
	return c.Complete(quietly(r.reconcile))
}

func (r *infraMachine) object() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.platform.infra.GroupVersionKind)
	return u
}

func (r *infraMachine) list() client.ObjectList {
	l := &unstructured.UnstructuredList{}
	gvk := r.platform.infra.GroupVersionKind
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return l
}

func infraOf(_ context.Context, o client.Object) []reconcile.Request {
	name := o.(*clusterv1.Machine).Spec.InfrastructureRef.Name
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
}

func (r *infraMachine) reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	a := r.object()
	if err := r.Get(ctx, key.NamespacedName, a); err != nil {
		return reconcile.Result{}, err
	}
	if r.platform.HoldsFirst {
		if added, err := ensureFinalizer(ctx, r, a, r.platform.Finalizer); err != nil || added {
			return reconcile.Result{}, err
		}
	}
	owner, err := r.owner(ctx, a)
	if err == nil && owner == nil && r.platform.HoldsFirst && a.GetDeletionTimestamp() != nil {
		before := a.DeepCopy()
		controllerutil.RemoveFinalizer(a, r.platform.Finalizer)
		_, err = versioned.PatchFrom(ctx, r, before, a)
	}
	if err != nil || owner == nil {
		return reconcile.Result{}, err // the Machine's controller has not claimed it yet, and will cause an event
	}
	cluster, err := clusterOf(ctx, r, a.GetNamespace(), owner.Spec.ClusterName)
	if err != nil {
		return reconcile.Result{}, err
	}
	cause := why(cluster, a, a.GetKind())
	if changed, err := r.acknowledge(ctx, a, cause); err != nil || changed || cause != "" {
		return reconcile.Result{}, err
	}
	if a.GetDeletionTimestamp() != nil {
		return r.remove(ctx, owner, a)
	}
	// Most providers add their finalizer only when they are not paused. The core controllers add theirs even while they are paused.
	if added, err := ensureFinalizer(ctx, r, a, r.platform.Finalizer); err != nil || added {
		return reconcile.Result{}, err
	}
	return r.provision(ctx, owner, a)
}

func ensureFinalizer(ctx context.Context, c client.Client, o client.Object, name string) (bool, error) {
	before := o.DeepCopyObject().(client.Object)
	if o.GetDeletionTimestamp() != nil || !controllerutil.AddFinalizer(o, name) {
		return false, nil
	}
	return versioned.PatchFrom(ctx, c, before, o)
}

func (r *infraMachine) owner(ctx context.Context, a *unstructured.Unstructured) (*clusterv1.Machine, error) {
	for _, ref := range a.GetOwnerReferences() {
		if ref.Kind != "Machine" {
			continue
		}
		m := &clusterv1.Machine{}
		return m, r.Get(ctx, client.ObjectKey{Namespace: a.GetNamespace(), Name: ref.Name}, m)
	}
	return nil, nil
}

func (r *infraMachine) provision(ctx context.Context, owner *clusterv1.Machine, a *unstructured.Unstructured) (reconcile.Result, error) {
	if owner.Spec.Bootstrap.DataSecretName == nil {
		return reconcile.Result{}, nil
	}
	i, found, err := r.instance(ctx, owner, a)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !found {
		return again, nil // the cloud lists a new instance only after a moment
	}
	before := a.DeepCopy()
	set(a, i.ProviderID(), "spec.providerID")
	if strings.HasPrefix(r.platform.ID, "spec.") {
		set(a, i.ID, r.platform.ID)
	}
	if _, err := versioned.PatchFrom(ctx, r, before, a); err != nil {
		return reconcile.Result{}, err
	}
	before = a.DeepCopy()
	r.report(a, i)
	if _, err := versioned.PatchStatusFrom(ctx, r, before, a); err != nil || i.State != machinetest.Pending {
		return reconcile.Result{}, err
	}
	return again, nil
}

// instance returns the instance that the object names, and launches one only if the object names none. A second call launches no second instance, because the
// launch token is the object's UID.
func (r *infraMachine) instance(ctx context.Context, owner *clusterv1.Machine, a *unstructured.Unstructured) (machinetest.Instance, bool, error) {
	if r.platform.keeps() {
		return r.keptInstance(ctx, owner, a)
	}
	if r.named(a) != "" {
		return r.describe(ctx, owner, a)
	}
	if err := r.bootstrapData(ctx, owner); err != nil {
		return machinetest.Instance{}, false, err
	}
	i, err := r.cloud.Launch(ctx, madeFor(owner, a), r.order(owner, a, string(a.GetUID())))
	return i, err == nil, err
}

func (r *infraMachine) order(owner *clusterv1.Machine, a *unstructured.Unstructured, token string) machinetest.Order {
	zone := owner.Spec.FailureDomain
	if zone == "" {
		zone = r.platform.Zone
	}
	return machinetest.Order{Token: token, Zone: zone, Type: text(a, "spec."+r.platform.Size), Image: text(a, "spec."+r.platform.Image)}
}

func (r *infraMachine) describe(ctx context.Context, owner *clusterv1.Machine, a *unstructured.Unstructured) (machinetest.Instance, bool, error) {
	key := machinetest.Key{ID: r.named(a)}
	if key.ID == "" {
		key.Token = string(a.GetUID())
	}
	i, err := r.cloud.Describe(ctx, madeFor(owner, a), key)
	if machinetest.IsNotFound(err) {
		return i, false, nil
	}
	return i, err == nil, err
}

// madeFor returns who a cloud call is for. Its name is that of the core Machine, which its twin has, too. Its UID is that of the provider's object, which is
// how the caller is known.
func madeFor(owner *clusterv1.Machine, a *unstructured.Unstructured) machinetest.Machine {
	return machinetest.Machine{Namespace: owner.Namespace, Name: owner.Name, UID: a.GetUID()}
}

// bootstrapData returns an error unless the data that an instance is launched with exists. Without that data no instance is launched.
func (r *infraMachine) bootstrapData(ctx context.Context, owner *clusterv1.Machine) error {
	name := *owner.Spec.Bootstrap.DataSecretName
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: name}, &corev1.Secret{}); err != nil {
		// %v: a missing Secret is a failure. With %w, the pass would end quietly, as for an object that is gone.
		return fmt.Errorf("reading the bootstrap data of Machine %s: %v", owner.Name, err)
	}
	return nil
}

func (r *infraMachine) named(a *unstructured.Unstructured) string {
	if id := text(a, "spec.providerID"); id != "" {
		return machinetest.InstanceID(id)
	}
	return text(a, r.platform.ID)
}

// report writes the instance's state to the status.
func (r *infraMachine) report(a *unstructured.Unstructured, i machinetest.Instance) {
	set(a, i.State == machinetest.Running, "status.ready")
	set(a, r.platform.actuator.Word(i.State), r.platform.State)
	if strings.HasPrefix(r.platform.ID, "status.") {
		set(a, i.ID, r.platform.ID)
	}
	ready := condition{status: corev1.ConditionFalse, severity: "Info", reason: "InstanceNotReady"}
	switch i.State {
	case machinetest.Running:
		ready = condition{status: corev1.ConditionTrue}
		set(a, []any{
			map[string]any{"type": string(clusterv1.MachineInternalDNS), "address": i.DNS()},
			map[string]any{"type": string(clusterv1.MachineInternalIP), "address": i.IP()},
		}, "status.addresses")
	case machinetest.ShuttingDown, machinetest.Terminated:
		ready.reason, ready.severity = "InstanceTerminated", "Error"
		set(a, "UpdateError", "status.failureReason")
		set(a, "the instance's state "+r.platform.actuator.Word(i.State)+" is unexpected", "status.failureMessage")
	case machinetest.Pending, machinetest.Stopped:
	}
	if r.platform.Ready == "" {
		return
	}
	for _, kind := range []string{r.platform.Ready, clusterv1.ReadyCondition} { // the second is the one that Cluster API's Machine copies
		ready.kind = kind
		ready.put(a, "status.conditions")
	}
	if r.platform.Answers == conversiontest.ByNewCondition {
		ready.inNewList().put(a, newConditions) // if this list exists, Cluster API's Machine copies from it
	}
}

// remove terminates the instance, waits until it is gone, and removes the finalizer.
func (r *infraMachine) remove(ctx context.Context, owner *clusterv1.Machine, a *unstructured.Unstructured) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(a, r.platform.Finalizer) {
		return reconcile.Result{}, nil
	}
	terminated := func() (bool, error) { return r.terminated(ctx, owner, a) }
	if r.platform.keeps() {
		terminated = func() (bool, error) { return r.keptGone(ctx, a) }
	}
	switch gone, err := terminated(); {
	case err != nil:
		return reconcile.Result{}, err
	case !gone:
		return again, nil
	}
	before := a.DeepCopy()
	controllerutil.RemoveFinalizer(a, r.platform.Finalizer)
	_, err := versioned.PatchFrom(ctx, r, before, a)
	return reconcile.Result{}, err
}

// terminated terminates the instance, and reports whether it is gone. The Node is left to Cluster API's core, which deletes it once the provider's object is
// gone.
func (r *infraMachine) terminated(ctx context.Context, owner *clusterv1.Machine, a *unstructured.Unstructured) (bool, error) {
	switch i, found, err := r.describe(ctx, owner, a); {
	case err != nil:
		return false, err
	case !found:
		return r.named(a) == "", nil // an instance that the object names may only not be listed yet
	case i.State == machinetest.ShuttingDown || i.Gone():
		return i.Gone(), nil
	default:
		return false, r.cloud.Terminate(ctx, madeFor(owner, a), i.ID)
	}
}

// text returns the string at a path. The path "" stands for a field that the platform does not have.
func text(a *unstructured.Unstructured, path string) string {
	value, _, _ := unstructured.NestedString(a.Object, strings.Split(path, ".")...)
	return value
}

// set writes a value at a path. With the path "" it writes nothing.
func set(a *unstructured.Unstructured, value any, path string) {
	if path == "" {
		return
	}
	if err := unstructured.SetNestedField(a.Object, value, strings.Split(path, ".")...); err != nil {
		panic(err) // a row of the table has a path through what is no object in the provider's CRD
	}
}
