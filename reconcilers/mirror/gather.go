// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// key names a pair: the Machine API namespace and the name that both objects have.
type key = client.ObjectKey

func (r *reconciler) gather(ctx context.Context, from client.Reader, k key) (*state, error) {
	pair, ok := r.pairs.Of(k.Namespace)
	if !ok {
		return nil, fmt.Errorf("reading %s: namespace %s belongs to no pair", k, k.Namespace)
	}
	s := &state{kind: r.kind, pair: pair, name: k.Name}
	for _, step := range []func(context.Context, client.Reader, *state) error{
		r.gatherPair, r.gatherMarked, r.gatherCluster, r.gatherInfra, r.gatherTemplates, r.gatherParents, r.gatherChildren,
	} {
		if err := step(ctx, present{from, s}, s); err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", r.kind.Name, k, err)
		}
	}
	if err := r.stillAsRead(ctx, present{from, s}, s); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", r.kind.Name, k, err)
	}
	return s, nil
}

// stillAsRead makes sure that which API is authoritative is who was when the rest was read. A write to the rest is refused only if that has changed
// since: without this, a pass that read the Machine API object before a move and its twin after it would write the one over the other.
func (r *reconciler) stillAsRead(ctx context.Context, from client.Reader, s *state) error {
	now, err := get(ctx, from, s.kind.MachineAPIGVK(), s.pair.MachineAPI, s.name)
	if err != nil || version(now) == version(s.machineAPI) {
		return err
	}
	what := schema.GroupResource{Group: s.kind.MachineAPI.Group, Resource: s.kind.Resource}
	return apierrors.NewConflict(what, s.name, errors.New("it changed while its twin was read"))
}

// version is "" of what does not exist.
func version(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	return o.GetResourceVersion()
}

func (r *reconciler) gatherPair(ctx context.Context, from client.Reader, s *state) (err error) {
	if s.machineAPI, err = get(ctx, from, s.kind.MachineAPIGVK(), s.pair.MachineAPI, s.name); err != nil {
		return err
	}
	s.core, err = get(ctx, from, s.kind.ClusterAPIGVK(), s.pair.ClusterAPI, s.name)
	return err
}

// gatherCluster reads what is the same for all pairs from the cache, whatever the rest is read from: it hardly ever changes, a change of it
// wakes every pair, and a pass that asks for less comes through where an API server answers only now and then.
func (r *reconciler) gatherCluster(ctx context.Context, _ client.Reader, s *state) error {
	return r.gatherEnv(ctx, present{r.cache, s}, s)
}

// gatherEnv reads what a conversion needs of the cluster. What is absent is no error but a sentence: it may come yet.
func (r *reconciler) gatherEnv(ctx context.Context, from client.Reader, s *state) (err error) {
	var missing conversion.Missing
	if s.env, missing, err = r.environment.Read(ctx, facts.Getter(ctx, from), s.pair, s.kind.Infra != ""); err != nil {
		return err
	}
	if s.reason, s.missing = missing.Reason, missing.Message; s.missing != "" {
		return nil
	}
	if s.cluster, err = get(ctx, from, facts.ClusterKind, s.pair.ClusterAPI, s.env.ClusterName); err != nil {
		return err
	}
	if s.cluster == nil {
		s.absent("Cluster")
		if s.marked(s.machineAPI) {
			s.reason, s.missing = reasonSurroundings, fmt.Sprintf("Cluster %s/%s does not exist", s.pair.ClusterAPI, s.env.ClusterName)+recreates
		}
	}
	if s.kind.Infra == "" {
		return nil
	}
	return r.gatherPlatform(ctx, from, s)
}

// gatherPlatform reads what a conversion of a kind with an infrastructure object needs beside.
func (r *reconciler) gatherPlatform(ctx context.Context, from client.Reader, s *state) error {
	if err := r.watchPlatform(s.env.Platform); err != nil {
		return err
	}
	found, err := environment.ReadInfraCluster(facts.Getter(ctx, from), &s.env)
	switch {
	case err != nil || found:
		return err
	case presence(s.cluster) == authority.Deleting:
		s.reason, s.missing = reasonSurroundings, fmt.Sprintf("Cluster %s/%s is being deleted, and %s of that name does not exist", s.pair.ClusterAPI, s.env.ClusterName, s.env.Platform.InfraCluster.Kind)+recreates
	case s.cluster != nil:
		s.absent(s.env.Platform.InfraCluster.Kind)
	}
	return nil
}

func (r *reconciler) gatherInfra(ctx context.Context, from client.Reader, s *state) (err error) {
	name := s.infraName()
	if s.env.Platform.Name == "" || name == "" {
		return nil
	}
	s.infra, err = get(ctx, from, s.infraKind(), s.pair.ClusterAPI, name)
	return err
}

// gatherTemplates finds the mirror's own templates and whatever has a name that one may need, and who uses templates if one of them may have to go.
func (r *reconciler) gatherTemplates(ctx context.Context, from client.Reader, s *state) error {
	if s.kind.Infra != authority.InfraMachineTemplate || s.env.Platform.Name == "" {
		return nil
	}
	found, err := all(ctx, from, s.infraKind(), s.pair.ClusterAPI, uncopied) // nearly all are others'
	if err != nil {
		return err
	}
	for _, o := range found {
		if s.isMirror(o) || strings.HasPrefix(o.GetName(), core.TemplatePrefix(s.name)) {
			s.templates = append(s.templates, o.DeepCopy())
		}
	}
	if slices.ContainsFunc(s.templates, func(o *unstructured.Unstructured) bool { return s.isTemplate(o) && o.GetName() != s.infraName() }) {
		return r.gatherUsed(ctx, from, s)
	}
	return nil
}

func (r *reconciler) gatherUsed(ctx context.Context, from client.Reader, s *state) error {
	setsOfAll, err := all(ctx, from, s.kind.ClusterAPIGVK(), s.pair.ClusterAPI, uncopied)
	if err != nil {
		return err
	}
	machines, err := all(ctx, from, s.env.Platform.InfraMachine.GroupVersionKind, s.pair.ClusterAPI, uncopied)
	if err != nil {
		return err
	}
	s.used = sets.New[string]()
	for _, o := range setsOfAll {
		s.used.Insert(nested(o, s.infraRef()...))
	}
	for _, o := range machines {
		s.used.Insert(o.GetAnnotations()[clonedFromAnnotation])
	}
	set, err := served.Get(ctx, r.live, controlPlaneKind, s.pair.MachineAPI, controlplane.Name)
	if err != nil || set == nil {
		return err
	}
	name, err := templateOfControlPlane(set)
	s.used.Insert(name)
	return err
}

var controlPlaneKind = machinev1.GroupVersion.WithKind(controlplane.Kind)

// templateOfControlPlane is the template that a ControlPlaneMachineSet refers to, "" for none.
func templateOfControlPlane(set *unstructured.Unstructured) (string, error) {
	raw, err := json.Marshal(set.Object)
	if err != nil {
		return "", err
	}
	member, err := controlplane.Template(raw)
	if err != nil || member == nil {
		return "", err
	}
	return member.Spec.InfrastructureRef.Name, nil
}

// clonedFromAnnotation is on an infrastructure machine that Cluster API made from a template.
const clonedFromAnnotation = "cluster.x-k8s.io/cloned-from-name"

// gatherParents reads the MachineSets above either side, and what they mean to a deletion.
func (r *reconciler) gatherParents(ctx context.Context, from client.Reader, s *state) error {
	s.parents = map[authority.API]*unstructured.Unstructured{}
	name := s.parentName()
	if kind, ok := authority.KindNamed(s.kind.Parent); ok && name != "" {
		machineAPI, err := get(ctx, from, kind.MachineAPIGVK(), s.pair.MachineAPI, name)
		if err != nil {
			return err
		}
		core, err := get(ctx, from, kind.ClusterAPIGVK(), s.pair.ClusterAPI, name)
		if err != nil {
			return err
		}
		s.parents[authority.MachineAPI], s.parents[authority.ClusterAPI] = machineAPI, core
	}
	return r.judgeParent(ctx, s)
}

// judgeParent fills what a deletion asks about the parent of the mirror, if the mirror is being deleted.
func (r *reconciler) judgeParent(ctx context.Context, s *state) error {
	mirror, side := s.mirror()
	ref := controllerOf(mirror)
	if mirror == nil || mirror.GetDeletionTimestamp() == nil || ref == nil {
		return nil
	}
	if ref.Kind == s.kind.Parent {
		s.parent = authority.Parent{
			Authority:  authority.Source(shape(s.parents[authority.MachineAPI])),
			MachineAPI: presence(s.parents[authority.MachineAPI]), ClusterAPI: presence(s.parents[authority.ClusterAPI]),
		}
		if s.parents[side] != nil && s.parents[side].GetUID() != ref.UID {
			s.setParent(side, authority.Absent)
		}
		return nil
	}
	// An owner that has no twin (a ControlPlaneMachineSet): when it goes, its Machines are not meant to. One that Poundlock may not read counts as gone, so that
	// what may have been the collector's deletion is never taken for a person's.
	owner, err := get(ctx, r.live, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), mirror.GetNamespace(), ref.Name)
	if err != nil && !served.Missing(err) && !apierrors.IsForbidden(err) {
		return err
	}
	s.setParent(side, presence(owner))
	if owner != nil && owner.GetUID() != ref.UID {
		s.setParent(side, authority.Absent) // one that was generated in its place
	}
	s.setParent(side.Other(), authority.Present)
	return nil
}

// gatherChildren lists what a mirror that is being deleted owns.
func (r *reconciler) gatherChildren(ctx context.Context, from client.Reader, s *state) (err error) {
	s.children, err = owned(ctx, from, s)
	return err
}

func owned(ctx context.Context, from client.Reader, s *state) ([]*unstructured.Unstructured, error) {
	mirror, side := s.mirror()
	if s.kind.Name != "MachineSet" || presence(mirror) != authority.Deleting {
		return nil, nil
	}
	machine, _ := authority.KindNamed("Machine")
	gvk := machine.ClusterAPIGVK()
	if side == authority.MachineAPI {
		gvk = machine.MachineAPIGVK()
	}
	found, err := all(ctx, from, gvk, mirror.GetNamespace())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(o *unstructured.Unstructured) bool { return detached(o, mirror, side) }), nil
}

func get(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", gvk.Kind, name, err)
	}
	return o, nil
}

// uncopied is for lists whose objects are neither changed nor kept: a copy of each Machine of a large fleet takes more memory than the cache,
// which shares what they have in common.
const uncopied = client.UnsafeDisableDeepCopy

func all(ctx context.Context, from client.Reader, gvk schema.GroupVersionKind, namespace string, opts ...client.ListOption) ([]*unstructured.Unstructured, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := from.List(ctx, l, append(opts, client.InNamespace(namespace))...); err != nil {
		return nil, fmt.Errorf("listing %s in %s: %w", gvk.Kind, namespace, err)
	}
	var out []*unstructured.Unstructured
	for i := range l.Items {
		out = append(out, &l.Items[i])
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out, nil
}

// gatherMarked reads the Machines of a set that the autoscaler wants to have fewer, as far as they are marked on the side that it writes to.
func (r *reconciler) gatherMarked(ctx context.Context, from client.Reader, s *state) error {
	set, side := s.fewer()
	if set == nil {
		return nil
	}
	machine, _ := authority.KindNamed("Machine")
	here, there, namespace := machine.MachineAPIGVK(), machine.ClusterAPIGVK(), s.pair.ClusterAPI
	if side == policies.SideClusterAPI {
		here, there, namespace = there, here, s.pair.MachineAPI
	}
	found, err := all(ctx, from, here, set.GetNamespace())
	if err != nil {
		return err
	}
	for _, o := range found {
		owner := controllerOf(o)
		if key, _ := markOf(o, side); key == "" || owner == nil || owner.UID != set.GetUID() {
			continue
		}
		twin, err := get(ctx, from, there, namespace, o.GetName())
		if err != nil {
			return err
		}
		m := &state{kind: machine, pair: s.pair, name: o.GetName(), machineAPI: o, core: twin}
		if side == policies.SideClusterAPI {
			m.machineAPI, m.core = twin, o
		}
		s.markedMachines = append(s.markedMachines, m)
	}
	return nil
}
