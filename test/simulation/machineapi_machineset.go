// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// machineAPIMachineSet is Machine API's machine set controller. spec.deletePolicy is not looked at: the set gives up
// Machines marked for it first, then those that do not run, then the youngest.
type machineAPIMachineSet struct {
	client.Client
	// live counts the Machines: a set that counts in a cache makes one too many.
	live    client.Reader
	ungated bool
}

func addMachineAPIMachineSet(m manager.Manager, o Options) error {
	r := &machineAPIMachineSet{Client: m.GetClient(), live: m.GetAPIReader(), ungated: o.Ungated}
	return ctrl.NewControllerManagedBy(m).Named("machine-api-machineset").
		For(&machinev1beta1.MachineSet{}).Owns(&machinev1beta1.Machine{}).Complete(quietly(r.reconcile))
}

func (r *machineAPIMachineSet) reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	set := &machinev1beta1.MachineSet{}
	if err := r.Get(ctx, key.NamespacedName, set); err != nil {
		return reconcile.Result{}, err
	}
	if !set.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // it acknowledges nothing any more; the garbage collector takes its Machines
	}
	if act, err := r.acknowledge(ctx, set); err != nil || !act {
		return reconcile.Result{}, err
	}
	machines, err := r.machines(ctx, set)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.scale(ctx, set, machines); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.report(ctx, set, machines)
}

func (r *machineAPIMachineSet) acknowledge(ctx context.Context, set *machinev1beta1.MachineSet) (bool, error) {
	if r.ungated {
		return true, nil
	}
	before := set.DeepCopy()
	act := gate(set.Spec.AuthoritativeAPI, &set.Status.AuthoritativeAPI, &set.Status.Conditions)
	changed, err := patchStatus(ctx, r, before, set)
	return act && !changed, err
}

func (r *machineAPIMachineSet) machines(ctx context.Context, set *machinev1beta1.MachineSet) ([]machinev1beta1.Machine, error) {
	selector, err := metav1.LabelSelectorAsSelector(&set.Spec.Selector)
	if err != nil {
		return nil, err
	}
	all := &machinev1beta1.MachineList{}
	if err := r.live.List(ctx, all, client.InNamespace(set.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	var own []machinev1beta1.Machine
	for _, m := range all.Items {
		if metav1.IsControlledBy(&m, set) && m.DeletionTimestamp.IsZero() {
			own = append(own, m)
		}
	}
	return own, nil
}

func (r *machineAPIMachineSet) scale(ctx context.Context, set *machinev1beta1.MachineSet, machines []machinev1beta1.Machine) error {
	want := replicas(set.Spec.Replicas)
	for range want - len(machines) {
		if err := r.Create(ctx, machineOf(set)); err != nil {
			return err
		}
	}
	for _, m := range surplus(machines, len(machines)-want, standing) {
		if err := client.IgnoreNotFound(r.Delete(ctx, &m)); err != nil {
			return err
		}
	}
	return nil
}

func machineOf(set *machinev1beta1.MachineSet) *machinev1beta1.Machine {
	template := set.Spec.Template.DeepCopy()
	return &machinev1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: set.Name + "-", Namespace: set.Namespace,
			Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, machinev1beta1.GroupVersion.WithKind("MachineSet"))},
		},
		Spec: template.Spec,
	}
}

func (r *machineAPIMachineSet) report(ctx context.Context, set *machinev1beta1.MachineSet, machines []machinev1beta1.Machine) error {
	before := set.DeepCopy()
	running := int32(0)
	for _, m := range machines {
		if m.Status.Phase != nil && *m.Status.Phase == machinev1beta1.PhaseRunning {
			running++
		}
	}
	set.Status.Replicas, set.Status.FullyLabeledReplicas = int32(len(machines)), int32(len(machines))
	set.Status.ReadyReplicas, set.Status.AvailableReplicas = running, running
	set.Status.ObservedGeneration = set.Generation
	set.Status.LabelSelector = labels.Set(set.Spec.Selector.MatchLabels).String()
	_, err := patchStatus(ctx, r, before, set)
	return err
}

func standing(m machinev1beta1.Machine) candidate {
	_, marked := m.Annotations["machine.openshift.io/delete-machine"]
	return candidate{
		name: m.Name, marked: marked, created: m.CreationTimestamp.Time,
		running: m.Status.Phase != nil && *m.Status.Phase == machinev1beta1.PhaseRunning,
	}
}
