// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// clusterAPIMachine is Cluster API's core Machine controller. It never calls the cloud: it hands its AWSMachine over to the
// provider, and copies back what that found.
type clusterAPIMachine struct{ client.Client }

func addClusterAPIMachine(m manager.Manager, _ Options) error {
	r := &clusterAPIMachine{m.GetClient()}
	machines := func() client.ObjectList { return &clusterv1.MachineList{} }
	return ctrl.NewControllerManagedBy(m).Named("cluster-api-machine").For(&clusterv1.Machine{}).
		Watches(&awsv1.AWSMachine{}, handler.EnqueueRequestForOwner(m.GetScheme(), m.GetRESTMapper(), &clusterv1.Machine{})).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(everyIn(r, machines))).
		Complete(quietly(r.reconcile))
}

func (r *clusterAPIMachine) reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	m := &clusterv1.Machine{}
	if err := r.Get(ctx, key.NamespacedName, m); err != nil {
		return reconcile.Result{}, err
	}
	cluster, err := clusterOf(ctx, r, m.Namespace, m.Spec.ClusterName)
	if err != nil {
		return reconcile.Result{}, err
	}
	// Before the pause is looked at: so that nothing is deleted between the two.
	if added, err := ensureFinalizer(ctx, r, m, clusterv1.MachineFinalizer); err != nil || added {
		return reconcile.Result{}, err
	}
	before := m.DeepCopy()
	cause := why(cluster, m, "Machine")
	pausedCondition(&m.Status.Conditions, cause, m.Generation)
	if changed, err := patchStatus(ctx, r, before, m); err != nil || changed || cause != "" {
		return reconcile.Result{}, err
	}
	if !m.DeletionTimestamp.IsZero() {
		return r.remove(ctx, m)
	}
	return r.follow(ctx, cluster, m)
}

func ensureFinalizer(ctx context.Context, c client.Client, o client.Object, name string) (bool, error) {
	before := o.DeepCopyObject().(client.Object)
	if !o.GetDeletionTimestamp().IsZero() || !controllerutil.AddFinalizer(o, name) {
		return false, nil
	}
	return patch(ctx, c, before, o)
}

// follow takes the AWSMachine in hand and copies what it says.
func (r *clusterAPIMachine) follow(ctx context.Context, cluster *clusterv1.Cluster, m *clusterv1.Machine) (reconcile.Result, error) {
	infra := &awsv1.AWSMachine{}
	err := r.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Spec.InfrastructureRef.Name}, infra)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err == nil {
		if err := r.claim(ctx, m, infra); err != nil {
			return reconcile.Result{}, err
		}
	}
	before := m.DeepCopy()
	belongTo(cluster, m)
	if infra.Spec.ProviderID != nil && infra.Status.Ready {
		m.Spec.ProviderID = *infra.Spec.ProviderID
	}
	if _, err := patch(ctx, r, before, m); err != nil {
		return reconcile.Result{}, err
	}
	node, err := r.node(ctx, m)
	if err != nil {
		return reconcile.Result{}, err
	}
	before = m.DeepCopy()
	copyStatus(m, infra, node)
	if _, err := patchStatus(ctx, r, before, m); err != nil || node != "" {
		return reconcile.Result{}, err
	}
	return again, nil
}

// belongTo makes an object that no controller owns its Cluster's, and labels it.
func belongTo(cluster *clusterv1.Cluster, o client.Object) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = cluster.Name
	o.SetLabels(labels)
	if metav1.GetControllerOf(o) != nil {
		return
	}
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID == cluster.UID {
			return
		}
	}
	o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID,
	}))
}

// claim makes the Machine the one owner of its AWSMachine.
func (r *clusterAPIMachine) claim(ctx context.Context, m *clusterv1.Machine, infra *awsv1.AWSMachine) error {
	before := infra.DeepCopy()
	if !metav1.IsControlledBy(infra, m) {
		infra.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(m, clusterv1.GroupVersion.WithKind("Machine"))}
	}
	metav1.SetMetaDataLabel(&infra.ObjectMeta, clusterv1.ClusterNameLabel, m.Spec.ClusterName)
	_, err := patch(ctx, r, before, infra)
	return err
}

func (r *clusterAPIMachine) node(ctx context.Context, m *clusterv1.Machine) (string, error) {
	if m.Spec.ProviderID == "" {
		return "", nil
	}
	nodes := &corev1.NodeList{}
	if err := r.List(ctx, nodes); err != nil {
		return "", err
	}
	for _, n := range nodes.Items {
		if n.Spec.ProviderID == m.Spec.ProviderID {
			return n.Name, nil
		}
	}
	return "", nil
}

func copyStatus(m *clusterv1.Machine, infra *awsv1.AWSMachine, node string) {
	bootstrapped := m.Spec.Bootstrap.DataSecretName != nil
	// Once provisioned, always: what the infrastructure says later is told by conditions.
	provisioned := m.Spec.ProviderID != "" && (infra.Status.Ready || m.Status.Initialization.InfrastructureProvisioned != nil)
	if bootstrapped {
		m.Status.Initialization.BootstrapDataSecretCreated = ptr(true)
	}
	if provisioned {
		m.Status.Initialization.InfrastructureProvisioned = ptr(true)
	}
	if len(infra.Status.Addresses) > 0 {
		m.Status.Addresses = nil
	}
	for _, a := range infra.Status.Addresses {
		m.Status.Addresses = append(m.Status.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineAddressType(a.Type), Address: a.Address})
	}
	if node != "" {
		m.Status.NodeRef.Name = node
	}
	m.Status.ObservedGeneration = m.Generation
	setCorePhase(m, corePhase(provisioned, bootstrapped, node))
	for _, c := range []metav1.Condition{
		condition(clusterv1.MachineBootstrapConfigReadyCondition, bootstrapped, "Ready", "NotReady", m.Generation),
		condition(clusterv1.MachineInfrastructureReadyCondition, provisioned, "Ready", "NotReady", m.Generation),
		condition(clusterv1.MachineNodeReadyCondition, node != "", "NodeReady", "NodeDoesNotExist", m.Generation),
		condition(clusterv1.MachineReadyCondition, node != "", "Ready", "NotReady", m.Generation),
		condition(clusterv1.MachineAvailableCondition, node != "", "Available", "NotReady", m.Generation),
	} {
		meta.SetStatusCondition(&m.Status.Conditions, c)
	}
}

func corePhase(provisioned, bootstrapped bool, node string) clusterv1.MachinePhase {
	switch {
	case provisioned && node != "":
		return clusterv1.MachinePhaseRunning
	case provisioned:
		return clusterv1.MachinePhaseProvisioned
	case bootstrapped:
		return clusterv1.MachinePhaseProvisioning
	}
	return clusterv1.MachinePhasePending
}

func setCorePhase(m *clusterv1.Machine, phase clusterv1.MachinePhase) {
	if m.Status.Phase != string(phase) {
		m.Status.Phase, m.Status.LastUpdated = string(phase), metav1.Now().Rfc3339Copy()
	}
}

// remove deletes the AWSMachine, waits until it is gone, and only then lets the Machine go.
func (r *clusterAPIMachine) remove(ctx context.Context, m *clusterv1.Machine) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(m, clusterv1.MachineFinalizer) {
		return reconcile.Result{}, nil
	}
	before := m.DeepCopy()
	setCorePhase(m, clusterv1.MachinePhaseDeleting)
	if _, err := patchStatus(ctx, r, before, m); err != nil || hooked(m) {
		return reconcile.Result{}, err
	}
	infra := &awsv1.AWSMachine{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Spec.InfrastructureRef.Name}}
	err := r.Get(ctx, client.ObjectKeyFromObject(infra), infra)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err == nil {
		if infra.DeletionTimestamp.IsZero() {
			err = client.IgnoreNotFound(r.Delete(ctx, infra))
		}
		return again, err
	}
	before = m.DeepCopy()
	controllerutil.RemoveFinalizer(m, clusterv1.MachineFinalizer)
	_, err = patch(ctx, r, before, m)
	return reconcile.Result{}, err
}

// hooked reports whether somebody holds the deletion up with an annotation.
func hooked(m *clusterv1.Machine) bool {
	for name := range m.Annotations {
		if strings.HasPrefix(name, clusterv1.PreDrainDeleteHookAnnotationPrefix) || strings.HasPrefix(name, clusterv1.PreTerminateDeleteHookAnnotationPrefix) {
			return true
		}
	}
	return false
}
