// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/poundlock/poundlock/policies/authority"
)

// machineAPIMachine is Machine API's machine controller with its AWS actuator.
type machineAPIMachine struct {
	client.Client
	cloud   account
	ungated bool
}

func addMachineAPIMachine(m manager.Manager, o Options) error {
	r := &machineAPIMachine{Client: m.GetClient(), cloud: account{o.Cloud, authority.MachineAPI}, ungated: o.Ungated}
	return ctrl.NewControllerManagedBy(m).Named("machine-api-machine").For(&machinev1beta1.Machine{}).Complete(quietly(r.reconcile))
}

func (r *machineAPIMachine) reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	m := &machinev1beta1.Machine{}
	if err := r.Get(ctx, key.NamespacedName, m); err != nil {
		return reconcile.Result{}, err
	}
	if act, err := r.acknowledge(ctx, m); err != nil || !act {
		return reconcile.Result{}, err
	}
	if !m.DeletionTimestamp.IsZero() {
		return r.remove(ctx, m)
	}
	before := m.DeepCopy()
	if controllerutil.AddFinalizer(m, authority.MachineAPIMachineFinalizer) {
		_, err := patch(ctx, r, before, m) // its event brings us back
		return reconcile.Result{}, err
	}
	return r.provision(ctx, m)
}

func (r *machineAPIMachine) acknowledge(ctx context.Context, m *machinev1beta1.Machine) (bool, error) {
	if r.ungated {
		return true, nil
	}
	before := m.DeepCopy()
	act := gate(m.Spec.AuthoritativeAPI, &m.Status.AuthoritativeAPI, &m.Status.Conditions)
	changed, err := patchStatus(ctx, r, before, m)
	return act && !changed, err
}

// provision brings the Machine's instance about, or finds it, and tells what it is.
func (r *machineAPIMachine) provision(ctx context.Context, m *machinev1beta1.Machine) (reconcile.Result, error) {
	spec := &machinev1beta1.AWSMachineProviderConfig{}
	if m.Spec.ProviderSpec.Value == nil || json.Unmarshal(m.Spec.ProviderSpec.Value.Raw, spec) != nil {
		return reconcile.Result{}, r.fail(ctx, m, machinev1beta1.InvalidConfigurationMachineError, "spec.providerSpec.value cannot be read")
	}
	i, found, err := r.instance(ctx, m, spec)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !found || i.State == ShuttingDown || i.State == Terminated {
		return reconcile.Result{}, r.fail(ctx, m, machinev1beta1.UpdateMachineError, "Can't find created instance.")
	}
	if err := r.describe(ctx, m, spec, i); err != nil {
		return reconcile.Result{}, err
	}
	node, err := nodeOf(ctx, r, i)
	if err != nil {
		return reconcile.Result{}, err
	}
	before := m.DeepCopy()
	report(m, i, node)
	if _, err := patchStatus(ctx, r, before, m); err != nil || node != "" {
		return reconcile.Result{}, err
	}
	return again, nil
}

// instance finds the Machine's instance by what the Machine says, and makes one only where it says nothing.
func (r *machineAPIMachine) instance(ctx context.Context, m *machinev1beta1.Machine, spec *machinev1beta1.AWSMachineProviderConfig) (Instance, bool, error) {
	of := machine{m.Namespace, m.Name}
	if id := instanceOf(m); id != "" {
		i, found := r.cloud.describe(ctx, of, id)
		return i, found, nil
	}
	i, err := r.cloud.launch(ctx, of, string(m.UID), spec.Placement.AvailabilityZone, spec.InstanceType)
	return i, err == nil, err
}

// describe writes to metadata and spec what the actuator knows from the instance.
func (r *machineAPIMachine) describe(ctx context.Context, m *machinev1beta1.Machine, spec *machinev1beta1.AWSMachineProviderConfig, i Instance) error {
	before := m.DeepCopy()
	m.Spec.ProviderID = ptr(i.ProviderID())
	metav1.SetMetaDataLabel(&m.ObjectMeta, "machine.openshift.io/region", spec.Placement.Region)
	metav1.SetMetaDataLabel(&m.ObjectMeta, "machine.openshift.io/zone", i.Zone)
	metav1.SetMetaDataLabel(&m.ObjectMeta, "machine.openshift.io/instance-type", i.Type)
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, "machine.openshift.io/instance-state", string(i.State))
	_, err := patch(ctx, r, before, m)
	return err
}

// report fills the status from the instance and its Node.
func report(m *machinev1beta1.Machine, i Instance, node string) {
	phase := machinev1beta1.PhaseProvisioned
	switch {
	case node != "":
		phase = machinev1beta1.PhaseRunning
		m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: node}
	case i.State == Pending:
		phase = machinev1beta1.PhaseProvisioning
	}
	setPhase(m, phase)
	m.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: i.IP()},
		{Type: corev1.NodeInternalDNS, Address: i.DNS()},
		{Type: corev1.NodeHostName, Address: i.DNS()},
	}
	setProviderStatus(m, i)
}

func setPhase(m *machinev1beta1.Machine, phase string) {
	if m.Status.Phase == nil || *m.Status.Phase != phase {
		m.Status.Phase, m.Status.LastUpdated = &phase, ptr(metav1.Now().Rfc3339Copy())
	}
}

// setProviderStatus changes what the actuator knows and keeps the rest; the raw bytes are touched only if they say
// something else, since the server orders their keys in its own way.
func setProviderStatus(m *machinev1beta1.Machine, i Instance) {
	status := providerStatus(m)
	before := status.DeepCopy()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "machine.openshift.io/v1beta1", Kind: "AWSMachineProviderStatus"}
	status.InstanceID, status.InstanceState = &i.ID, ptr(string(i.State))
	success := metav1.Condition{
		Type: "MachineCreation", Status: metav1.ConditionTrue, Reason: "MachineCreationSucceeded",
		Message: "Machine successfully created", LastTransitionTime: metav1.Now().Rfc3339Copy(),
	}
	if !slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool { return c.Type == success.Type }) {
		status.Conditions = append(status.Conditions, success)
	}
	if same(before, status) {
		return
	}
	raw, _ := json.Marshal(status) // of strings and times
	m.Status.ProviderStatus = &runtime.RawExtension{Raw: raw}
}

func providerStatus(m *machinev1beta1.Machine) *machinev1beta1.AWSMachineProviderStatus {
	status := &machinev1beta1.AWSMachineProviderStatus{}
	if m.Status.ProviderStatus != nil {
		_ = json.Unmarshal(m.Status.ProviderStatus.Raw, status) // what cannot be read says nothing
	}
	return status
}

// instanceOf is the ID that the Machine itself gives for its instance.
func instanceOf(m *machinev1beta1.Machine) string {
	if id := providerStatus(m).InstanceID; id != nil {
		return *id
	}
	if m.Spec.ProviderID != nil {
		return InstanceID(*m.Spec.ProviderID)
	}
	return ""
}

func (r *machineAPIMachine) fail(ctx context.Context, m *machinev1beta1.Machine, reason machinev1beta1.MachineStatusError, message string) error {
	before := m.DeepCopy()
	setPhase(m, machinev1beta1.PhaseFailed)
	m.Status.ErrorReason, m.Status.ErrorMessage = &reason, &message
	_, err := patchStatus(ctx, r, before, m)
	return err
}

// remove terminates the instance, waits until it is gone, removes its Node, and lets the Machine go.
func (r *machineAPIMachine) remove(ctx context.Context, m *machinev1beta1.Machine) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(m, authority.MachineAPIMachineFinalizer) {
		return reconcile.Result{}, nil
	}
	before := m.DeepCopy()
	setPhase(m, machinev1beta1.PhaseDeleting)
	if _, err := patchStatus(ctx, r, before, m); err != nil {
		return reconcile.Result{}, err
	}
	if hooks := m.Spec.LifecycleHooks; len(hooks.PreDrain)+len(hooks.PreTerminate) > 0 {
		return reconcile.Result{}, nil // whoever removes the hook wakes us
	}
	gone, err := terminated(ctx, r, r.cloud, machine{m.Namespace, m.Name}, instanceOf(m))
	if err != nil || !gone {
		return again, err
	}
	before = m.DeepCopy()
	controllerutil.RemoveFinalizer(m, authority.MachineAPIMachineFinalizer)
	_, err = patch(ctx, r, before, m)
	return reconcile.Result{}, err
}

// terminated ends an instance and reports whether it, and its Node, are gone.
func terminated(ctx context.Context, c client.Client, cloud account, of machine, id string) (bool, error) {
	if id == "" {
		return true, nil
	}
	i, found := cloud.describe(ctx, of, id)
	if !found {
		return true, nil
	}
	if i.State != Terminated {
		if err := cloud.terminate(ctx, of, id); err != nil {
			return false, fmt.Errorf("terminating %s: %w", id, err)
		}
		return false, nil
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: i.DNS()}}
	return true, client.IgnoreNotFound(c.Delete(ctx, node))
}
