// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/instanceid"
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/machine/health"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

func checkKind() authority.Kind   { return kindNamed("MachineHealthCheck") }
func machineKind() authority.Kind { return kindNamed("Machine") }
func setKind() authority.Kind     { return kindNamed("MachineSet") }

func kindNamed(name string) authority.Kind {
	k, _ := authority.KindNamed(name)
	return k
}

// state is a MachineHealthCheck and the Machines that it selects, as they were read.
type state struct {
	// check and core are the MachineHealthCheck in the Machine API and in Cluster API, nil if it does not exist there.
	check, core *unstructured.Unstructured
	shape       authority.Shape
	// cluster is the Cluster that Cluster API's check names, nil if it does not exist.
	cluster *policies.Object
	// spec is the spec of the Machine API check, into which the mirror has converted Cluster API's check.
	spec machinev1beta1.MachineHealthCheckSpec
	// targets are the Machines that Cluster API's check selects, each as the API has it that is authoritative for the Machine.
	targets []health.Target
	// machineAPI and clusterAPI are the objects of these Machines in both APIs, by name.
	machineAPI, clusterAPI map[string]*unstructured.Unstructured
	// machineAPISets and clusterAPISets are all MachineSets of both APIs, by name.
	machineAPISets, clusterAPISets map[string]*unstructured.Unstructured
}

// carried reports whether this controller acts on the verdicts of the check. Cluster API must be authoritative for the check, neither the check nor its Cluster
// may be paused, and the Machine API twin must have the check's present rules. While authority over the check or over a Machine moves, nothing is deleted.
//
// Cluster API's check judges no Machine while its Cluster is paused or does not exist, so nothing is done in its stead either.
func (s *state) carried() bool {
	if s.check == nil || s.core == nil || s.shape.Current != authority.ClusterAPI || s.check.GetDeletionTimestamp() != nil ||
		s.core.GetDeletionTimestamp() != nil || s.cluster == nil || authority.PausesAll(s.cluster) {
		return false
	}
	return !paused(s.core) && s.shape.Condition(authority.ConditionSynchronized).Status == metav1.ConditionTrue &&
		s.shape.MadeFrom(s.check.GetAnnotations(), s.core.GetUID(), s.core.GetGeneration())
}

// ours reports whether Poundlock must remediate a Machine, because Cluster API's check does not do what its spec asks. If Machine API is authoritative for the
// Machine, the check skips the Machine's mirror, which is paused. If Cluster API is authoritative, the check asks the Machine's owner, and Poundlock acts if
// that owner does not. If the check has a remediation template, the owner is asked only once the remediator has given up. If somebody has asked in either API
// to skip the Machine, or has paused a Machine for which Cluster API is authoritative, Poundlock skips it, too.
func (s *state) ours(m *machinev1beta1.Machine) bool {
	core, mapi := s.clusterAPI[m.Name], s.machineAPI[m.Name]
	if core == nil || mapi == nil || core.GetDeletionTimestamp() != nil || mapi.GetDeletionTimestamp() != nil || skips(core) || skips(mapi) {
		return false
	}
	switch m.Status.AuthoritativeAPI {
	case machinev1beta1.MachineAuthorityMachineAPI:
		return core.GetAnnotations()[authority.MirrorAnnotation] == "Machine/"+m.Name && m.Annotations[machineapi.RemediationStrategyAnnotation] == ""
	case machinev1beta1.MachineAuthorityClusterAPI:
		return (s.spec.RemediationTemplate == nil || givenUp(core)) && !paused(core) && s.ownerPaused(m)
	}
	return false
}

// givenUp reports whether the remediator of a check with a remediation template has left a Machine to the Machine's owner.
func givenUp(core *unstructured.Unstructured) bool {
	parsed, err := parse(core)
	return err == nil && authority.GivenUp(parsed)
}

func paused(o *unstructured.Unstructured) bool {
	_, paused := o.GetAnnotations()[authority.PausedAnnotation]
	return paused
}

func skips(o *unstructured.Unstructured) bool {
	_, skip := o.GetAnnotations()[health.SkipAnnotation]
	return skip
}

// ownerPaused reports whether the Cluster API owner of a Machine is the mirror of a MachineSet for which Machine API is authoritative. Then the controller of
// that MachineSet replaces the Machines that are deleted. It also returns true for a ControlPlaneMachineSet, which has no mirror, because its operator acts
// only in Machine API.
func (s *state) ownerPaused(m *machinev1beta1.Machine) bool {
	owner := metav1.GetControllerOf(m)
	if owner == nil {
		return false
	}
	if owner.Kind == authority.ControlPlane {
		return true
	}
	mirror, set := s.clusterAPISets[owner.Name], s.machineAPISets[owner.Name]
	if owner.Kind != setKind().Name || mirror == nil || set == nil || mirror.GetUID() != owner.UID || set.GetDeletionTimestamp() != nil {
		return false
	}
	current, _, _ := unstructured.NestedString(set.Object, "status", "authoritativeAPI")
	return paused(mirror) && current == string(authority.MachineAPI)
}

// authoritative returns the object whose deletion deletes the Machine: the Cluster API object if Cluster API is authoritative for the Machine, else the Machine
// API object.
func (s *state) authoritative(m *machinev1beta1.Machine) *unstructured.Unstructured {
	if m.Status.AuthoritativeAPI == machinev1beta1.MachineAuthorityClusterAPI {
		return s.clusterAPI[m.Name]
	}
	return s.machineAPI[m.Name]
}

func (r *reconciler) gather(ctx context.Context, from client.Reader, key client.ObjectKey) (*state, error) {
	s := &state{}
	pair, ok := r.pairs.Of(key.Namespace)
	if !ok {
		return s, nil
	}
	var err error
	if s.core, err = served.Get(ctx, from, checkKind().ClusterAPIGVK(), pair.ClusterAPI, key.Name); err != nil {
		return nil, err
	}
	if s.check, err = served.Get(ctx, from, checkKind().MachineAPIGVK(), pair.MachineAPI, key.Name); err != nil || s.check == nil {
		return s, err
	}
	if s.core == nil {
		return s, nil
	}
	if s.cluster, err = clusterOf(ctx, from, s.core); err != nil {
		return nil, err
	}
	if s.shape, err = shapeOf(s.check); err != nil || !s.carried() {
		return s, err
	}
	if err := typed(s.check, &s.spec, "spec"); err != nil {
		return nil, err
	}
	return s, r.gatherMachines(ctx, from, pair, s)
}

func (r *reconciler) gatherMachines(ctx context.Context, from client.Reader, pair authority.Pair, s *state) (err error) {
	selector, err := selectorOf(s.core)
	if err != nil {
		return err
	}
	if s.clusterAPI, err = all(ctx, from, machineKind().ClusterAPIGVK(), pair.ClusterAPI, selector); err != nil {
		return err
	}
	if s.machineAPI, err = all(ctx, from, machineKind().MachineAPIGVK(), pair.MachineAPI); err != nil {
		return err
	}
	if s.clusterAPISets, err = all(ctx, from, setKind().ClusterAPIGVK(), pair.ClusterAPI); err != nil {
		return err
	}
	if s.machineAPISets, err = all(ctx, from, setKind().MachineAPIGVK(), pair.MachineAPI); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.clusterAPI)) {
		m, err := s.machine(name)
		if err != nil {
			return err
		}
		t, err := r.target(ctx, r.cache, m)
		if err != nil {
			return err
		}
		s.targets = append(s.targets, t)
	}
	return nil
}

// selectorOf returns the list option for the Machines that Cluster API's check selects: its selector, and the label of its cluster.
func selectorOf(check *unstructured.Unstructured) (client.ListOption, error) {
	var spec clusterv1.MachineHealthCheckSpec
	if err := typed(check, &spec, "spec"); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(metav1.CloneSelectorAndAddLabel(&spec.Selector, clusterv1.ClusterNameLabel, spec.ClusterName))
	if err != nil {
		return nil, fmt.Errorf("reading spec.selector of the check %s: %w", check.GetName(), err)
	}
	return client.MatchingLabelsSelector{Selector: selector}, nil
}

// machine returns a selected Machine in the form of the Machine API. This is the Machine API object, or, if Cluster API is authoritative, the result of
// converting the Cluster API Machine.
func (s *state) machine(name string) (*machinev1beta1.Machine, error) {
	m := &machinev1beta1.Machine{}
	if o := s.machineAPI[name]; o != nil {
		if err := typed(o, m); err != nil || m.Status.AuthoritativeAPI != machinev1beta1.MachineAuthorityClusterAPI {
			return m, err
		}
	}
	o := s.clusterAPI[name]
	status := core.StatusToMachineAPI("Machine", core.Twin{Core: o}, conversion.Env{})
	m = &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: o.GetNamespace(), CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(),
		OwnerReferences: o.GetOwnerReferences(), Annotations: o.GetAnnotations(),
	}}
	if id, _, _ := unstructured.NestedString(o.Object, "spec", "providerID"); id != "" {
		m.Spec.ProviderID = &id
	}
	if set := controlPlaneOf(s.machineAPI[name]); set != nil && metav1.GetControllerOf(m) == nil {
		m.OwnerReferences = append(m.OwnerReferences, *set)
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &m.Status)
	m.Status.AuthoritativeAPI = machinev1beta1.MachineAuthorityClusterAPI
	return m, err
}

// controlPlaneOf returns the owner reference of a Machine to its ControlPlaneMachineSet, which replaces the Machine; nil if the Machine has none.
func controlPlaneOf(m *unstructured.Unstructured) *metav1.OwnerReference {
	if m == nil {
		return nil
	}
	if owner := metav1.GetControllerOf(m); owner != nil && owner.Kind == authority.ControlPlane {
		return owner
	}
	return nil
}

// target returns the Machine together with its Node.
func (r *reconciler) target(ctx context.Context, from client.Reader, m *machinev1beta1.Machine) (health.Target, error) {
	t := health.Target{Machine: m}
	if m.Status.NodeRef == nil {
		return t, nil
	}
	n := &corev1.Node{}
	err := from.Get(ctx, client.ObjectKey{Name: m.Status.NodeRef.Name}, n)
	if apierrors.IsNotFound(err) {
		t.Node, err = renamed(ctx, from, m)
		return t, err
	}
	if err != nil {
		return t, fmt.Errorf("reading the Node of Machine %s: %w", m.Name, err)
	}
	t.Node = n
	return t, nil
}

// renamed returns the Node of a Machine's instance if the instance has registered again under another name than the Machine refers to; nil if there is none.
// The Machine controller corrects the reference a moment later.
func renamed(ctx context.Context, from client.Reader, m *machinev1beta1.Machine) (*corev1.Node, error) {
	id := ptr.Deref(m.Spec.ProviderID, "")
	if instanceid.Key(id) == "" {
		return nil, nil
	}
	found := &corev1.NodeList{}
	if err := from.List(ctx, found, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("looking for the Node of Machine %s under another name: %w", m.Name, err)
	}
	for i := range found.Items {
		if of := found.Items[i].Spec.ProviderID; instanceid.KeyOn(instanceid.Scheme(of), id) == instanceid.Key(of) { // the Node's scheme is the platform's
			return &found.Items[i], nil
		}
	}
	return nil, nil
}

// typed converts an object, or the part of it at the path fields, into a Go value.
func typed(o *unstructured.Unstructured, into any, fields ...string) error {
	part, _, err := unstructured.NestedFieldNoCopy(o.Object, fields...)
	content, _ := part.(map[string]any)
	if len(fields) == 0 {
		content = o.Object
	}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

func shapeOf(o *unstructured.Unstructured) (authority.Shape, error) {
	parsed, err := parse(o)
	return authority.Read(parsed), err
}

// clusterOf reads the Cluster that a check of Cluster API names; nil if it does not exist.
func clusterOf(ctx context.Context, from client.Reader, core *unstructured.Unstructured) (*policies.Object, error) {
	name, _, _ := unstructured.NestedString(core.Object, "spec", "clusterName")
	if name == "" {
		return nil, nil
	}
	o, err := served.Get(ctx, from, facts.ClusterKind, core.GetNamespace(), name)
	if err != nil || o == nil {
		return nil, err
	}
	return parse(o)
}

func parse(o *unstructured.Unstructured) (*policies.Object, error) {
	raw, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	return policies.ParseObject(raw)
}

// all lists objects, by name, without copying them, because a large fleet has many Machines. Callers must not change the objects, which belong to the cache.
func all(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, namespace string,
	only ...client.ListOption) (map[string]*unstructured.Unstructured, error) {
	found, err := served.List(ctx, from, gvk, namespace, append(only, client.UnsafeDisableDeepCopy)...)
	if err != nil && !served.Missing(err) {
		return nil, err
	}
	out := map[string]*unstructured.Unstructured{}
	for _, o := range found {
		out[o.GetName()] = o
	}
	return out, nil
}
