// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1" //nolint:staticcheck // the provider's conditions are still of this version
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
)

// awsMachine is the AWS provider's machine controller: the one of Cluster API's that calls the cloud.
type awsMachine struct {
	client.Client
	// live reads Secrets: they are asked for once, and not worth a watch.
	live  client.Reader
	cloud machinetest.API
}

func addAWSMachine(m manager.Manager, o Options) error {
	r := &awsMachine{Client: m.GetClient(), live: m.GetAPIReader(), cloud: o.Cloud.As(authority.ClusterAPI)}
	all := func() client.ObjectList { return &awsv1.AWSMachineList{} }
	return ctrl.NewControllerManagedBy(m).Named("awsmachine").For(&awsv1.AWSMachine{}).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(infraOf)).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(everyIn(r, all))).
		Complete(quietly(r.reconcile))
}

func infraOf(_ context.Context, o client.Object) []reconcile.Request {
	name := o.(*clusterv1.Machine).Spec.InfrastructureRef.Name
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
}

func (r *awsMachine) reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	a := &awsv1.AWSMachine{}
	if err := r.Get(ctx, key.NamespacedName, a); err != nil {
		return reconcile.Result{}, err
	}
	owner, err := r.owner(ctx, a)
	if err != nil || owner == nil {
		return reconcile.Result{}, err // the Machine's controller has not claimed it yet: its event comes
	}
	cluster, err := clusterOf(ctx, r, a.Namespace, owner.Spec.ClusterName)
	if err != nil {
		return reconcile.Result{}, err
	}
	before := a.DeepCopy()
	cause := why(cluster, a, "AWSMachine")
	setProviderCondition(a, pausedProvider(cause))
	if changed, err := patchStatus(ctx, r, before, a); err != nil || changed || cause != "" {
		return reconcile.Result{}, err
	}
	if !a.DeletionTimestamp.IsZero() {
		return r.remove(ctx, owner, a)
	}
	// Unlike the core controllers, the provider adds its finalizer only once it is not paused.
	if added, err := ensureFinalizer(ctx, r, a, awsv1.MachineFinalizer); err != nil || added {
		return reconcile.Result{}, err
	}
	return r.provision(ctx, owner, a)
}

func ensureFinalizer(ctx context.Context, c client.Client, o client.Object, name string) (bool, error) {
	before := o.DeepCopyObject().(client.Object)
	if !o.GetDeletionTimestamp().IsZero() || !controllerutil.AddFinalizer(o, name) {
		return false, nil
	}
	return patch(ctx, c, before, o)
}

func (r *awsMachine) owner(ctx context.Context, a *awsv1.AWSMachine) (*clusterv1.Machine, error) {
	for _, ref := range a.OwnerReferences {
		if ref.Kind != "Machine" {
			continue
		}
		m := &clusterv1.Machine{}
		return m, r.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: ref.Name}, m)
	}
	return nil, nil
}

func (r *awsMachine) provision(ctx context.Context, owner *clusterv1.Machine, a *awsv1.AWSMachine) (reconcile.Result, error) {
	if owner.Spec.Bootstrap.DataSecretName == nil {
		return reconcile.Result{}, nil
	}
	i, found, err := r.instance(ctx, owner, a)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !found {
		return again, nil // news of what was launched a moment ago come late
	}
	before := a.DeepCopy()
	a.Spec.ProviderID, a.Spec.InstanceID = ptr(i.ProviderID()), ptr(i.ID)
	if _, err := patch(ctx, r, before, a); err != nil {
		return reconcile.Result{}, err
	}
	before = a.DeepCopy()
	reportProvider(a, i)
	if _, err := patchStatus(ctx, r, before, a); err != nil || i.State != machinetest.Pending {
		return reconcile.Result{}, err
	}
	return again, nil
}

// instance adopts the instance that the AWSMachine names, and makes one only where it names none. To ask twice is to ask once: the
// token is the AWSMachine's UID.
func (r *awsMachine) instance(ctx context.Context, owner *clusterv1.Machine, a *awsv1.AWSMachine) (machinetest.Instance, bool, error) {
	if instanceNamed(a) != "" {
		return r.describe(ctx, owner, a)
	}
	if err := r.bootstrapData(ctx, owner); err != nil {
		return machinetest.Instance{}, false, err
	}
	zone := owner.Spec.FailureDomain
	if zone == "" {
		zone = "us-east-1a"
	}
	order := machinetest.Order{Token: string(a.UID), Zone: zone, Type: a.Spec.InstanceType}
	if a.Spec.AMI.ID != nil {
		order.Image = *a.Spec.AMI.ID
	}
	i, err := r.cloud.Launch(ctx, madeFor(owner, a), order)
	return i, err == nil, err
}

func (r *awsMachine) describe(ctx context.Context, owner *clusterv1.Machine, a *awsv1.AWSMachine) (machinetest.Instance, bool, error) {
	key := machinetest.Key{ID: instanceNamed(a)}
	if key.ID == "" {
		key.Token = string(a.UID)
	}
	i, err := r.cloud.Describe(ctx, madeFor(owner, a), key)
	if machinetest.IsNotFound(err) {
		return i, false, nil
	}
	return i, err == nil, err
}

// madeFor names the Machine by its core object, whose twin has the same name, and the one who asks by the AWSMachine.
func madeFor(owner *clusterv1.Machine, a *awsv1.AWSMachine) machinetest.Machine {
	return machinetest.Machine{Namespace: owner.Namespace, Name: owner.Name, UID: a.UID}
}

// bootstrapData is what an instance would be launched with: without it there is none.
func (r *awsMachine) bootstrapData(ctx context.Context, owner *clusterv1.Machine) error {
	name := *owner.Spec.Bootstrap.DataSecretName
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: name}, &corev1.Secret{}); err != nil {
		// %v: a Secret that is missing is a failure, not the end of the story.
		return fmt.Errorf("reading the bootstrap data of Machine %s: %v", owner.Name, err)
	}
	return nil
}

func instanceNamed(a *awsv1.AWSMachine) string {
	if a.Spec.ProviderID != nil {
		return machinetest.InstanceID(*a.Spec.ProviderID)
	}
	if a.Spec.InstanceID != nil {
		return *a.Spec.InstanceID
	}
	return ""
}

func reportProvider(a *awsv1.AWSMachine, i machinetest.Instance) {
	a.Status.InstanceState = ptr(awsv1.InstanceState(i.State))
	a.Status.Ready = i.State == machinetest.Running
	ready := clusterv1beta1.Condition{Type: awsv1.InstanceReadyCondition, Status: corev1.ConditionFalse, Severity: clusterv1beta1.ConditionSeverityInfo, Reason: awsv1.InstanceNotReadyReason}
	switch i.State {
	case machinetest.Running:
		ready = clusterv1beta1.Condition{Type: awsv1.InstanceReadyCondition, Status: corev1.ConditionTrue}
		a.Status.Addresses = []clusterv1beta1.MachineAddress{
			{Type: clusterv1beta1.MachineInternalDNS, Address: i.DNS()},
			{Type: clusterv1beta1.MachineInternalIP, Address: i.IP()},
		}
	case machinetest.ShuttingDown, machinetest.Terminated:
		ready.Reason, ready.Severity = awsv1.InstanceTerminatedReason, clusterv1beta1.ConditionSeverityError
		a.Status.FailureReason, a.Status.FailureMessage = ptr("UpdateError"), ptr("EC2 instance state "+string(i.State)+" is unexpected")
	case machinetest.Pending, machinetest.Stopped:
	}
	setProviderCondition(a, ready)
	ready.Type = clusterv1beta1.ReadyCondition // the one that Cluster API's Machine copies
	setProviderCondition(a, ready)
}

func pausedProvider(cause string) clusterv1beta1.Condition {
	if cause != "" {
		return clusterv1beta1.Condition{Type: authority.ConditionPaused, Status: corev1.ConditionTrue, Reason: "Paused", Message: cause}
	}
	return clusterv1beta1.Condition{Type: authority.ConditionPaused, Status: corev1.ConditionFalse, Reason: "NotPaused"}
}

func setProviderCondition(a *awsv1.AWSMachine, c clusterv1beta1.Condition) {
	c.LastTransitionTime = metav1.Now().Rfc3339Copy()
	for i, old := range a.Status.Conditions {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		a.Status.Conditions[i] = c
		return
	}
	a.Status.Conditions = append(a.Status.Conditions, c)
}

// remove terminates the instance, waits until it is gone, and lets the AWSMachine go.
func (r *awsMachine) remove(ctx context.Context, owner *clusterv1.Machine, a *awsv1.AWSMachine) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(a, awsv1.MachineFinalizer) {
		return reconcile.Result{}, nil
	}
	switch gone, err := r.terminated(ctx, owner, a); {
	case err != nil:
		return reconcile.Result{}, err
	case !gone:
		return again, nil
	}
	before := a.DeepCopy()
	controllerutil.RemoveFinalizer(a, awsv1.MachineFinalizer)
	_, err := patch(ctx, r, before, a)
	return reconcile.Result{}, err
}

// terminated asks for the instance's end, and reports whether it has come. The Node is the core's to delete, once the AWSMachine is gone.
func (r *awsMachine) terminated(ctx context.Context, owner *clusterv1.Machine, a *awsv1.AWSMachine) (bool, error) {
	switch i, found, err := r.describe(ctx, owner, a); {
	case err != nil:
		return false, err
	case !found:
		return instanceNamed(a) == "", nil // one that has a name is only not yet to be seen
	case i.State == machinetest.ShuttingDown || i.Gone():
		return i.Gone(), nil
	default:
		return false, r.cloud.Terminate(ctx, madeFor(owner, a), i.ID)
	}
}
