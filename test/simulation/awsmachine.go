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

	"github.com/poundlock/poundlock/policies/authority"
)

// awsMachine is the AWS provider's machine controller: the one of Cluster API's that calls the cloud.
type awsMachine struct {
	client.Client
	// live reads Secrets: they are asked for once, and not worth a watch.
	live  client.Reader
	cloud account
}

func addAWSMachine(m manager.Manager, o Options) error {
	r := &awsMachine{Client: m.GetClient(), live: m.GetAPIReader(), cloud: account{o.Cloud, authority.ClusterAPI}}
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
		return r.remove(ctx, a)
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
		i.State = Terminated
	}
	before := a.DeepCopy()
	if found {
		a.Spec.ProviderID, a.Spec.InstanceID = ptr(i.ProviderID()), ptr(i.ID)
	}
	if _, err := patch(ctx, r, before, a); err != nil {
		return reconcile.Result{}, err
	}
	before = a.DeepCopy()
	reportProvider(a, i)
	if _, err := patchStatus(ctx, r, before, a); err != nil || i.State != Pending {
		return reconcile.Result{}, err
	}
	return again, nil
}

// instance adopts the instance that the AWSMachine names, and makes one only where it names none.
func (r *awsMachine) instance(ctx context.Context, owner *clusterv1.Machine, a *awsv1.AWSMachine) (Instance, bool, error) {
	of := machine{owner.Namespace, owner.Name}
	if id := instanceNamed(a); id != "" {
		i, found := r.cloud.describe(ctx, of, id)
		return i, found, nil
	}
	if err := r.bootstrapData(ctx, owner); err != nil {
		return Instance{}, false, err
	}
	zone := owner.Spec.FailureDomain
	if zone == "" {
		zone = "us-east-1a"
	}
	i, err := r.cloud.launch(ctx, of, string(a.UID), zone, a.Spec.InstanceType)
	return i, err == nil, err
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
		return InstanceID(*a.Spec.ProviderID)
	}
	if a.Spec.InstanceID != nil {
		return *a.Spec.InstanceID
	}
	return ""
}

func reportProvider(a *awsv1.AWSMachine, i Instance) {
	a.Status.InstanceState = ptr(awsv1.InstanceState(i.State))
	a.Status.Ready = i.State == Running
	ready := clusterv1beta1.Condition{Type: awsv1.InstanceReadyCondition, Status: corev1.ConditionFalse, Severity: clusterv1beta1.ConditionSeverityInfo, Reason: awsv1.InstanceNotReadyReason}
	switch i.State {
	case Running:
		ready = clusterv1beta1.Condition{Type: awsv1.InstanceReadyCondition, Status: corev1.ConditionTrue}
		a.Status.Addresses = []clusterv1beta1.MachineAddress{
			{Type: clusterv1beta1.MachineInternalDNS, Address: i.DNS()},
			{Type: clusterv1beta1.MachineInternalIP, Address: i.IP()},
		}
	case ShuttingDown, Terminated:
		ready.Reason, ready.Severity = awsv1.InstanceTerminatedReason, clusterv1beta1.ConditionSeverityError
		a.Status.FailureReason, a.Status.FailureMessage = ptr("UpdateError"), ptr("EC2 instance state "+string(i.State)+" is unexpected")
	case Pending:
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
func (r *awsMachine) remove(ctx context.Context, a *awsv1.AWSMachine) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(a, awsv1.MachineFinalizer) {
		return reconcile.Result{}, nil
	}
	gone, err := terminated(ctx, r, r.cloud, machine{a.Namespace, a.Name}, instanceNamed(a))
	if err != nil || !gone {
		return again, err
	}
	before := a.DeepCopy()
	controllerutil.RemoveFinalizer(a, awsv1.MachineFinalizer)
	_, err = patch(ctx, r, before, a)
	return reconcile.Result{}, err
}
