// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/environment"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/feedback"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/status"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// key names a pair: the Machine API namespace and the name that both objects have.
type key = client.ObjectKey

func (r *reconciler) gather(ctx context.Context, from client.Reader, k key) (*pairs.State, error) {
	pair, ok := r.pairs.Of(k.Namespace)
	if !ok {
		return nil, fmt.Errorf("reading %s: namespace %s belongs to no pair", k, k.Namespace)
	}
	s := &pairs.State{Kind: r.kind, Pair: pair, Name: k.Name, Answered: r.answered.has}
	for _, step := range []func(context.Context, client.Reader, *pairs.State) error{
		r.gatherPair, r.gatherMarked, r.gatherCluster, r.gatherInfra, r.gatherTemplates, r.gatherParents, r.gatherChecks, r.gatherChildren,
		r.stillAsRead,
	} {
		if err := step(ctx, present{from, s}, s); err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", r.kind.Name, k, err)
		}
	}
	return s, nil
}

// stillAsRead makes sure that which API is authoritative is who was when the rest was read. A write to the rest is refused only if that has changed
// since: without this, a pass that read the Machine API object before a move and its twin after it would write the one over the other.
func (r *reconciler) stillAsRead(ctx context.Context, from client.Reader, s *pairs.State) error {
	now, err := served.Read(ctx, from, s.Kind.MachineAPIGVK(), s.Pair.MachineAPI, s.Name)
	if err != nil || version(now) == version(s.MachineAPI) {
		return err
	}
	what := schema.GroupResource{Group: s.Kind.MachineAPI.Group, Resource: s.Kind.Resource}
	return apierrors.NewConflict(what, s.Name, errors.New("it changed while its twin was read"))
}

// version is "" of what does not exist.
func version(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	return o.GetResourceVersion()
}

func (r *reconciler) gatherPair(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	if s.MachineAPI, err = served.Read(ctx, from, s.Kind.MachineAPIGVK(), s.Pair.MachineAPI, s.Name); err != nil {
		return err
	}
	s.Core, err = served.Read(ctx, from, s.Kind.ClusterAPIGVK(), s.Pair.ClusterAPI, s.Name)
	return err
}

// gatherCluster reads what is the same for all pairs from the cache, whatever the rest is read from: it hardly ever changes, a change of it
// wakes every pair, and a pass that asks for less comes through where an API server answers only now and then.
func (r *reconciler) gatherCluster(ctx context.Context, _ client.Reader, s *pairs.State) error {
	return r.gatherEnv(ctx, present{r.cache, s}, s)
}

// gatherEnv reads what a conversion needs of the cluster. What is absent is no error but a sentence: it may come yet.
func (r *reconciler) gatherEnv(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	var missing conversion.Missing
	if s.Env, missing, err = r.environment.Read(ctx, facts.Getter(ctx, from), s.Pair, s.Kind.Infra != ""); err != nil {
		return err
	}
	if s.Reason, s.Missing = missing.Reason, missing.Message; s.Missing != "" {
		return nil
	}
	if s.Cluster, err = served.Read(ctx, from, facts.ClusterKind, s.Pair.ClusterAPI, s.Env.ClusterName); err != nil {
		return err
	}
	if s.Cluster == nil {
		s.ClusterAbsent()
	}
	if s.Kind.Infra == "" {
		return nil
	}
	return r.gatherPlatform(ctx, from, s)
}

// gatherPlatform reads what a conversion of a kind with an infrastructure object needs beside.
func (r *reconciler) gatherPlatform(ctx context.Context, from client.Reader, s *pairs.State) error {
	if err := r.watchPlatform(s.Env.Platform); err != nil {
		return err
	}
	found, err := environment.ReadInfraCluster(facts.Getter(ctx, from), &s.Env)
	if err == nil && !found {
		s.InfraClusterAbsent()
	}
	return err
}

func (r *reconciler) gatherInfra(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	name := s.InfraName()
	if s.Env.Platform.Name == "" || name == "" {
		return nil
	}
	if s.Infra, err = served.Read(ctx, from, s.InfraKind(), s.Pair.ClusterAPI, name); err != nil {
		return err
	}
	return r.gatherInfraInstance(ctx, from, s, name)
}

// gatherInfraInstance reads what the provider keeps for the instance, also when the machine of that name has gone before it. A cluster whose provider has no
// such kind, and so no definition of it, has no such object.
func (r *reconciler) gatherInfraInstance(ctx context.Context, from client.Reader, s *pairs.State, infra string) (err error) {
	kind := s.Env.Platform.InfraInstance.GroupVersionKind
	if kind.Empty() || s.Kind.Infra != authority.InfraMachine {
		return nil
	}
	if p, ok := from.(present); ok {
		from = p.Reader
	}
	s.InfraInstance, err = facts.InfraInstance(ctx, from, kind, key{Namespace: s.Pair.ClusterAPI, Name: infra}, s.Infra)
	if !served.Missing(err) {
		return err
	}
	_, gone, err := facts.Leaving(ctx, r.live, authority.Surrounding{Kind: authority.Definition, Name: s.Env.Platform.InfraInstance.Definition()})
	if err == nil {
		s.LacksInstances(kind, !gone)
	}
	return err
}

// gatherTemplates finds the mirror's own templates and whatever has a name that one may need, and who uses templates if one of them may have to go.
func (r *reconciler) gatherTemplates(ctx context.Context, from client.Reader, s *pairs.State) error {
	if s.Kind.Infra != authority.InfraMachineTemplate || s.Env.Platform.Name == "" {
		return nil
	}
	found, err := served.List(ctx, from, s.InfraKind(), s.Pair.ClusterAPI, uncopied) // nearly all are others'
	if err != nil {
		return err
	}
	for _, o := range found {
		if s.IsMirror(o) || strings.HasPrefix(o.GetName(), core.TemplatePrefix(s.Name)) {
			s.Templates = append(s.Templates, o.DeepCopy())
		}
	}
	if slices.ContainsFunc(s.Templates, func(o *unstructured.Unstructured) bool { return s.IsTemplate(o) && o.GetName() != s.InfraName() }) {
		return r.gatherUsed(ctx, from, s)
	}
	return nil
}

func (r *reconciler) gatherUsed(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	if s.Used, err = facts.UsedTemplates(ctx, from, s.Env.Platform, s.Pair.ClusterAPI); err != nil {
		return err
	}
	name, err := facts.TemplateOfControlPlane(ctx, r.live, s.Pair.MachineAPI)
	s.Used.Insert(name)
	return err
}

// gatherParents reads the MachineSets above either side, and what they mean to a deletion.
func (r *reconciler) gatherParents(ctx context.Context, from client.Reader, s *pairs.State) error {
	s.Parents = map[authority.API]*unstructured.Unstructured{}
	name := s.ParentName()
	if kind, ok := authority.KindNamed(s.Kind.Parent); ok && name != "" {
		machineAPI, err := served.Read(ctx, from, kind.MachineAPIGVK(), s.Pair.MachineAPI, name)
		if err != nil {
			return err
		}
		core, err := served.Read(ctx, from, kind.ClusterAPIGVK(), s.Pair.ClusterAPI, name)
		if err != nil {
			return err
		}
		s.Parents[authority.MachineAPI], s.Parents[authority.ClusterAPI] = machineAPI, core
	}
	return r.judgeParent(ctx, s)
}

// gatherChecks finds out whether a check of Cluster API's still acts on a Machine that one has marked. Where their kind is not served, none does.
func (r *reconciler) gatherChecks(ctx context.Context, from client.Reader, s *pairs.State) error {
	if !status.Judged(s) {
		return nil
	}
	if p, ok := from.(present); ok {
		from = p.Reader
	}
	kind, _ := authority.KindNamed("MachineHealthCheck")
	checks, err := served.List(ctx, from, kind.ClusterAPIGVK(), s.Pair.ClusterAPI, uncopied)
	if err != nil && !served.Missing(err) {
		return err
	}
	s.Unchecked = !slices.ContainsFunc(checks, func(c *unstructured.Unstructured) bool { return status.Checks(c, s.Core) })
	return nil
}

// judgeParent fills what a deletion asks about the parent of the mirror, if the mirror is being deleted. An owner that Poundlock may not read counts as gone,
// so that what may have been the collector's deletion is never taken for a person's.
func (r *reconciler) judgeParent(ctx context.Context, s *pairs.State) (err error) {
	var owner *unstructured.Unstructured
	if mirror, ref := deletion.OwnerWithoutTwin(s); ref != nil {
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		if owner, err = served.Read(ctx, r.live, kind, mirror.GetNamespace(), ref.Name); err != nil && !served.Missing(err) && !apierrors.IsForbidden(err) {
			return err
		}
	}
	deletion.JudgeParent(s, owner)
	return nil
}

// gatherChildren lists what a mirror that is being deleted owns.
func (r *reconciler) gatherChildren(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	s.Children, err = owned(ctx, from, s)
	return err
}

func owned(ctx context.Context, from client.Reader, s *pairs.State) ([]*unstructured.Unstructured, error) {
	mirror, side := s.Mirror()
	if s.Kind.Name != "MachineSet" || pairs.PresenceOf(mirror) != authority.Deleting {
		return nil, nil
	}
	machine, _ := authority.KindNamed("Machine")
	found, err := served.List(ctx, from, machine.GVKOf(side), mirror.GetNamespace())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(o *unstructured.Unstructured) bool { return pairs.Detached(o, mirror, side) }), nil
}

// uncopied is for lists whose objects are neither changed nor kept: a copy of each Machine of a large fleet takes more memory than the cache,
// which shares what they have in common.
const uncopied = client.UnsafeDisableDeepCopy

// gatherMarked reads the Machines of a set that the autoscaler wants to have fewer, as far as they are marked on the side that it writes to.
func (r *reconciler) gatherMarked(ctx context.Context, from client.Reader, s *pairs.State) error {
	set, side := feedback.Fewer(s)
	if set == nil {
		return nil
	}
	machine, _ := authority.KindNamed("Machine")
	here, there, namespace := machine.MachineAPIGVK(), machine.ClusterAPIGVK(), s.Pair.ClusterAPI
	if side == policies.SideClusterAPI {
		here, there, namespace = there, here, s.Pair.MachineAPI
	}
	found, err := served.List(ctx, from, here, set.GetNamespace())
	if err != nil {
		return err
	}
	for _, o := range found {
		owner := pairs.ControllerOf(o)
		if key, _ := feedback.MarkOf(o, side); key == "" || owner == nil || owner.UID != set.GetUID() {
			continue
		}
		twin, err := served.Read(ctx, from, there, namespace, o.GetName())
		if err != nil {
			return err
		}
		m := &pairs.State{Kind: machine, Pair: s.Pair, Name: o.GetName(), MachineAPI: o, Core: twin}
		if side == policies.SideClusterAPI {
			m.MachineAPI, m.Core = twin, o
		}
		s.MarkedMachines = append(s.MarkedMachines, m)
	}
	return nil
}
