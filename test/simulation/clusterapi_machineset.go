// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// propagator is the field manager under which a MachineSet writes to its Machines.
const propagator = "capi-machineset"

// clusterAPIMachineSet is Cluster API's MachineSet controller.
type clusterAPIMachineSet struct {
	client.Client
	// live counts the Machines: a set that counts in a cache makes one too many.
	live client.Reader
}

func addClusterAPIMachineSet(m manager.Manager, _ Options) error {
	r := &clusterAPIMachineSet{Client: m.GetClient(), live: m.GetAPIReader()}
	sets := func() client.ObjectList { return &clusterv1.MachineSetList{} }
	return ctrl.NewControllerManagedBy(m).Named("cluster-api-machineset").
		For(&clusterv1.MachineSet{}).Owns(&clusterv1.Machine{}).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(everyIn(r, sets))).
		Complete(quietly(r.reconcile))
}

func (r *clusterAPIMachineSet) reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	set := &clusterv1.MachineSet{}
	if err := r.Get(ctx, key.NamespacedName, set); err != nil {
		return reconcile.Result{}, err
	}
	cluster, err := clusterOf(ctx, r, set.Namespace, set.Spec.ClusterName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if added, err := ensureFinalizer(ctx, r, set, clusterv1.MachineSetFinalizer); err != nil || added {
		return reconcile.Result{}, err
	}
	before := set.DeepCopy()
	cause := why(cluster, set, "MachineSet")
	pausedCondition(&set.Status.Conditions, cause, set.Generation)
	if changed, err := patchStatus(ctx, r, before, set); err != nil || changed || cause != "" {
		return reconcile.Result{}, err
	}
	machines, err := r.machines(ctx, set)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !set.DeletionTimestamp.IsZero() {
		return r.remove(ctx, set, machines)
	}
	return r.keep(ctx, cluster, set, machines)
}

// keep propagates, scales and reports.
func (r *clusterAPIMachineSet) keep(ctx context.Context, cluster *clusterv1.Cluster, set *clusterv1.MachineSet, machines []clusterv1.Machine) (reconcile.Result, error) {
	before := set.DeepCopy()
	belongTo(cluster, set)
	if _, err := patch(ctx, r, before, set); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.propagate(ctx, set, machines); err != nil {
		return reconcile.Result{}, err
	}
	standing := slices.DeleteFunc(slices.Clone(machines), func(m clusterv1.Machine) bool { return !m.DeletionTimestamp.IsZero() })
	if err := r.scale(ctx, set, standing); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.report(ctx, set, machines)
}

func (r *clusterAPIMachineSet) machines(ctx context.Context, set *clusterv1.MachineSet) ([]clusterv1.Machine, error) {
	selector, err := metav1.LabelSelectorAsSelector(&set.Spec.Selector)
	if err != nil {
		return nil, err
	}
	all := &clusterv1.MachineList{}
	if err := r.live.List(ctx, all, client.InNamespace(set.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all.Items, func(m clusterv1.Machine) bool { return !metav1.IsControlledBy(&m, set) }), nil
}

// propagate writes the template's labels and annotations onto every Machine and AWSMachine of the set, the paused included: a
// server-side apply, which changes nothing where it says nothing new.
func (r *clusterAPIMachineSet) propagate(ctx context.Context, set *clusterv1.MachineSet, machines []clusterv1.Machine) error {
	for _, m := range machines {
		if !m.DeletionTimestamp.IsZero() {
			continue
		}
		for _, part := range []struct {
			kind, version, name string
			labels              map[string]string
		}{
			{"Machine", clusterv1.GroupVersion.String(), m.Name, labelsOf(set)},
			{"AWSMachine", awsv1.GroupVersion.String(), m.Spec.InfrastructureRef.Name, labelsOf(set)},
		} {
			if err := r.apply(ctx, set, part.version, part.kind, part.name, part.labels); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("propagating to %s %s: %w", part.kind, part.name, err)
			}
		}
	}
	return nil
}

func (r *clusterAPIMachineSet) apply(ctx context.Context, set *clusterv1.MachineSet, version, kind, name string, labels map[string]string) error {
	existing := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind}}
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: name}, existing); err != nil {
		return err
	}
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	o.SetNamespace(set.Namespace)
	o.SetName(name)
	o.SetUID(existing.UID) // so that it is changed and never made
	o.SetLabels(labels)
	o.SetAnnotations(set.Spec.Template.Annotations)
	return r.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(propagator+"-metadata"), client.ForceOwnership)
}

func labelsOf(set *clusterv1.MachineSet) map[string]string {
	labels := maps.Clone(set.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, set.Spec.Selector.MatchLabels)
	labels[clusterv1.ClusterNameLabel] = set.Spec.ClusterName
	labels[clusterv1.MachineSetNameLabel] = set.Name
	return labels
}

func (r *clusterAPIMachineSet) scale(ctx context.Context, set *clusterv1.MachineSet, standing []clusterv1.Machine) error {
	want := replicas(set.Spec.Replicas)
	for range want - len(standing) {
		if err := r.create(ctx, set); err != nil {
			return err
		}
	}
	for _, m := range surplus(standing, len(standing)-want, standingCore) {
		if err := client.IgnoreNotFound(r.Delete(ctx, &m)); err != nil {
			return err
		}
	}
	return nil
}

// create clones the template under the new Machine's name and makes the Machine that refers to it.
func (r *clusterAPIMachineSet) create(ctx context.Context, set *clusterv1.MachineSet) error {
	name := set.Name + "-" + rand.String(5)
	infra, err := r.clone(ctx, set, name)
	if err != nil {
		return err
	}
	m := coreMachine(set, name)
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		return err
	}
	delete(o, "status")
	err = r.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: o}), client.FieldOwner(propagator), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("creating Machine %s: %w", name, errors.Join(err, client.IgnoreNotFound(r.Delete(ctx, infra))))
	}
	return nil
}

func coreMachine(set *clusterv1.MachineSet, name string) *clusterv1.Machine {
	m := &clusterv1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: set.Namespace, Labels: labelsOf(set), Annotations: set.Spec.Template.Annotations,
			Finalizers:      []string{clusterv1.MachineFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, clusterv1.GroupVersion.WithKind("MachineSet"))},
		},
		Spec: *set.Spec.Template.Spec.DeepCopy(),
	}
	m.Spec.ClusterName = set.Spec.ClusterName
	m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: awsv1.GroupVersion.Group, Kind: "AWSMachine", Name: name}
	return m
}

func (r *clusterAPIMachineSet) clone(ctx context.Context, set *clusterv1.MachineSet, name string) (*awsv1.AWSMachine, error) {
	template := &awsv1.AWSMachineTemplate{}
	key := client.ObjectKey{Namespace: set.Namespace, Name: set.Spec.Template.Spec.InfrastructureRef.Name}
	if err := r.live.Get(ctx, key, template); err != nil {
		// %v: to this set a template that is missing is a failure, not the end of the story.
		return nil, fmt.Errorf("cloning AWSMachineTemplate %s: %v", key.Name, err)
	}
	annotations := maps.Clone(set.Spec.Template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[clusterv1.TemplateClonedFromNameAnnotation] = template.Name
	annotations[clusterv1.TemplateClonedFromGroupKindAnnotation] = "AWSMachineTemplate." + awsv1.GroupVersion.Group
	infra := &awsv1.AWSMachine{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: set.Namespace, Labels: labelsOf(set), Annotations: annotations,
			// Until the Machine claims it, so that it does not outlive the set.
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: set.Name, UID: set.UID,
			}},
		},
		Spec: *template.Spec.Template.Spec.DeepCopy(),
	}
	return infra, r.Create(ctx, infra)
}

func (r *clusterAPIMachineSet) report(ctx context.Context, set *clusterv1.MachineSet, machines []clusterv1.Machine) error {
	before := set.DeepCopy()
	ready := int32(0)
	for _, m := range machines {
		if meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.MachineReadyCondition) {
			ready++
		}
	}
	all := int32(len(machines))
	set.Status.Replicas, set.Status.UpToDateReplicas = &all, &all
	set.Status.ReadyReplicas, set.Status.AvailableReplicas = &ready, &ready
	set.Status.ObservedGeneration = set.Generation
	set.Status.Selector = metav1.FormatLabelSelector(&set.Spec.Selector)
	_, err := patchStatus(ctx, r, before, set)
	return err
}

// remove deletes the set's Machines, waits until they are gone, and only then lets the set go.
func (r *clusterAPIMachineSet) remove(ctx context.Context, set *clusterv1.MachineSet, machines []clusterv1.Machine) (reconcile.Result, error) {
	for _, m := range machines {
		if !m.DeletionTimestamp.IsZero() {
			continue
		}
		if err := client.IgnoreNotFound(r.Delete(ctx, &m)); err != nil {
			return reconcile.Result{}, err
		}
	}
	if len(machines) > 0 {
		return again, nil
	}
	before := set.DeepCopy()
	controllerutil.RemoveFinalizer(set, clusterv1.MachineSetFinalizer)
	_, err := patch(ctx, r, before, set)
	return reconcile.Result{}, err
}

func standingCore(m clusterv1.Machine) candidate {
	_, marked := m.Annotations[clusterv1.DeleteMachineAnnotation]
	return candidate{
		name: m.Name, marked: marked, created: m.CreationTimestamp.Time,
		running: m.Status.Phase == string(clusterv1.MachinePhaseRunning),
	}
}
