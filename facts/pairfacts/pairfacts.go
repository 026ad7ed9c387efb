// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairfacts

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
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/internal/served"
	"github.com/poundlock/poundlock/mirroring"
	"github.com/poundlock/poundlock/mirroring/deletion"
	"github.com/poundlock/poundlock/mirroring/feedback"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/mirroring/status"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Reader reads the pairs of one kind.
type Reader struct {
	Kind  authority.Kind
	Pairs authority.Pairs
	// Cache is a reader for objects that all pairs have in common. Live reads from the API server, and is for what decides about a deletion.
	Cache, Live client.Reader
	Environment facts.Environment
	// Platform is called with the cluster's platform before any object of the platform's kinds is read.
	Platform func(conversion.Platform) error
	// Gate reads the feature gate from the API server.
	Gate func(context.Context) (authority.Migration, error)
	// Kept reports whether the API server has already answered a write of exactly this content (answers.Kept).
	Kept func(*unstructured.Unstructured) bool
}

// Read reads the pair that k names. k has the Machine API namespace and the name that both objects have. A kind that is not served is no error: the state names
// that kind (Unserved).
func (r Reader) Read(ctx context.Context, from client.Reader, k client.ObjectKey) (*pairs.State, error) {
	pair, ok := r.Pairs.Of(k.Namespace)
	if !ok {
		return nil, fmt.Errorf("reading %s: namespace %s is not a mirrored namespace", k, k.Namespace)
	}
	s := &pairs.State{Kind: r.Kind, Pair: pair, Name: k.Name, Answered: r.Kept}
	for _, step := range []func(context.Context, client.Reader, *pairs.State) error{
		r.both, r.marked, r.cluster, r.infra, r.templates, r.parents, r.checks, r.children, r.stillAsRead,
	} {
		if err := step(ctx, present{from, s}, s); err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", r.Kind.Name, k, err)
		}
	}
	return s, nil
}

// stillAsRead returns a conflict error if the Machine API object, and so perhaps which API is authoritative, has changed while the rest was read. The API
// server refuses a write to another object only if that object changes afterwards. Without this check, a pass that read the Machine API object before a move,
// and its twin after the move, would overwrite the authoritative object with the mirror's content.
func (r Reader) stillAsRead(ctx context.Context, from client.Reader, s *pairs.State) error {
	now, err := served.Read(ctx, from, s.Kind.MachineAPIGVK(), s.Pair.MachineAPI, s.Name)
	if err != nil || version(now) == version(s.MachineAPI) {
		return err
	}
	what := schema.GroupResource{Group: s.Kind.MachineAPI.Group, Resource: s.Kind.Resource}
	return apierrors.NewConflict(what, s.Name, errors.New("the object changed while Poundlock read its twin"))
}

// version returns the object's resourceVersion, "" for an object that does not exist.
func version(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	return o.GetResourceVersion()
}

func (r Reader) both(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	if s.MachineAPI, err = served.Read(ctx, from, s.Kind.MachineAPIGVK(), s.Pair.MachineAPI, s.Name); err != nil {
		return err
	}
	s.Core, err = served.Read(ctx, from, s.Kind.ClusterAPIGVK(), s.Pair.ClusterAPI, s.Name)
	return err
}

// cluster reads the objects that all pairs have in common. It reads them from the cache even if the rest is read live, for two reasons. They hardly ever
// change, and a change requeues every pair. And a pass with fewer requests is more likely to succeed with an API server that answers only now and then.
func (r Reader) cluster(ctx context.Context, _ client.Reader, s *pairs.State) error {
	return r.env(ctx, present{r.Cache, s}, s)
}

// env reads what a conversion needs to know about the cluster. If something is missing, it returns no error but stores a sentence in the state, because the
// missing object may be created later.
func (r Reader) env(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	var missing conversion.Missing
	if s.Env, missing, err = r.Environment.Read(ctx, facts.Getter(ctx, from), s.Pair, s.Kind.Infra != ""); err != nil {
		return err
	}
	if s.Reason, s.Missing = missing.Reason, missing.Message; s.Missing != "" {
		return r.platformOfObjects(s)
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
	return r.platform(ctx, from, s)
}

// platformOfObjects takes the platform from the pair if the Infrastructure does not name it. Nothing is converted then. But the object that the provider keeps
// for a Machine is still deleted with the Machine. That object is paused, so its controller would never release it, and once the Machine is gone nothing leads
// to it.
func (r Reader) platformOfObjects(s *pairs.State) error {
	p, ok := platforms.Named(s.PlatformKind())
	if !ok {
		return nil
	}
	s.Env.Platform = p
	return r.Platform(p)
}

// platform reads what the conversion needs in addition for a kind that has an infrastructure object.
func (r Reader) platform(ctx context.Context, from client.Reader, s *pairs.State) error {
	if err := r.Platform(s.Env.Platform); err != nil {
		return err
	}
	found, err := environment.ReadInfraCluster(facts.Getter(ctx, from), &s.Env)
	if err == nil && !found {
		s.InfraClusterAbsent()
	}
	return err
}

func (r Reader) infra(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	name := s.InfraName()
	if s.Env.Platform.Name == "" || name == "" {
		return nil
	}
	if s.Infra, err = served.Read(ctx, from, s.InfraKind(), s.Pair.ClusterAPI, name); err != nil {
		return err
	}
	if s.Infra == nil && s.MachineAPI != nil && s.Kind.Infra == authority.InfraMachine {
		if s.Referrer, err = r.referrer(ctx, s, name); err != nil {
			return err
		}
	}
	return r.infraInstance(ctx, from, s, name)
}

// referrer returns the name of another Cluster API Machine that refers to an infrastructure machine of this name; "" if there is none. It is called only while
// that infrastructure machine does not exist, before a mirror creates it.
func (r Reader) referrer(ctx context.Context, s *pairs.State, infra string) (string, error) {
	machines, err := served.List(ctx, r.Cache, s.Kind.ClusterAPIGVK(), s.Pair.ClusterAPI, uncopied, facts.OfInfra(infra))
	if err != nil && !served.Missing(err) {
		return "", err
	}
	for _, m := range machines {
		if m.GetName() != s.Name && pairs.Nested(m, s.InfraRef()...) == infra && pairs.Nested(m, "spec", "infrastructureRef", "kind") == s.InfraKind().Kind {
			return m.GetName(), nil
		}
	}
	return "", nil
}

// infraInstance reads the object that the provider keeps for the instance, even if the provider's machine is gone already. There is no such object in a cluster
// whose provider has no CRD for that kind.
func (r Reader) infraInstance(ctx context.Context, from client.Reader, s *pairs.State, infra string) (err error) {
	kind := s.Env.Platform.InfraInstance.GroupVersionKind
	if kind.Empty() || s.Kind.Infra != authority.InfraMachine {
		return nil
	}
	if p, ok := from.(present); ok {
		from = p.Reader
	}
	s.InfraInstance, err = facts.InfraInstance(ctx, from, kind, client.ObjectKey{Namespace: s.Pair.ClusterAPI, Name: infra}, s.Infra)
	if !served.Missing(err) {
		return err
	}
	_, gone, err := facts.Leaving(ctx, r.Live, authority.Surrounding{Kind: authority.Definition, Name: s.Env.Platform.InfraInstance.Definition()})
	if err == nil {
		s.LacksInstances(kind, !gone)
	}
	return err
}

// templates reads the templates that the mirror made, and those with a name that the mirror may need. If one that the mirror made may have to be deleted, it
// also reads which templates are in use.
func (r Reader) templates(ctx context.Context, from client.Reader, s *pairs.State) error {
	if s.Kind.Infra != authority.InfraMachineTemplate || s.Env.Platform.Name == "" {
		return nil
	}
	found, err := served.List(ctx, from, s.InfraKind(), s.Pair.ClusterAPI, uncopied) // uncopied, because nearly all of them belong to other sets
	if err != nil {
		return err
	}
	for _, o := range found {
		if s.IsMirror(o) || strings.HasPrefix(o.GetName(), core.TemplatePrefix(s.Name)) {
			s.Templates = append(s.Templates, o.DeepCopy())
		}
	}
	if slices.ContainsFunc(s.Templates, func(o *unstructured.Unstructured) bool { return s.IsTemplate(o) && o.GetName() != s.InfraName() }) {
		return r.used(ctx, from, s)
	}
	return nil
}

func (r Reader) used(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	if s.Used, err = facts.UsedTemplates(ctx, from, s.Env.Platform, s.Pair.ClusterAPI); err != nil {
		return err
	}
	name, err := facts.TemplateOfControlPlane(ctx, r.Live, s.Pair.MachineAPI)
	s.Used.Insert(name)
	return err
}

// parents reads the MachineSets that own the objects of the pair, and what they mean for a deletion.
func (r Reader) parents(ctx context.Context, from client.Reader, s *pairs.State) error {
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
	if err := r.room(ctx, s); err != nil {
		return err
	}
	return r.judgeParent(ctx, s)
}

// room finds out whether the mirror of a Machine that Machine API runs may join Cluster API's MachineSet. It reads nothing unless such a mirror is missing: the
// Machine has lost it, for example with the CRD, or was restored without it. Cluster API's set and Machines are read from the API server, because this set may
// just have created Machines.
func (r Reader) room(ctx context.Context, s *pairs.State) (err error) {
	twin, set := s.Parents[authority.MachineAPI], s.Parents[authority.ClusterAPI]
	if s.Kind.Name != "Machine" || s.Core != nil || pairs.PresenceOf(s.MachineAPI) != authority.Present || s.Source() != authority.MachineAPI ||
		pairs.PresenceOf(twin) != authority.Present || pairs.PresenceOf(set) != authority.Present || pairs.IsPaused(set) ||
		authority.Authoritative(authority.Read(pairs.ObjectOf(twin))) != authority.ClusterAPI {
		return nil
	}
	parent, _ := authority.KindNamed(s.Kind.Parent)
	if set, err = served.Read(ctx, r.Live, parent.ClusterAPIGVK(), s.Pair.ClusterAPI, set.GetName()); err != nil || set == nil {
		return err
	}
	roster := authority.Roster{
		Sets:     map[authority.API]*policies.Object{authority.MachineAPI: pairs.ObjectOf(twin), authority.ClusterAPI: pairs.ObjectOf(set)},
		Machines: map[authority.API][]*policies.Object{},
	}
	run, err := served.List(ctx, r.Cache, s.Kind.MachineAPIGVK(), s.Pair.MachineAPI, uncopied, facts.OwnedBy(twin.GetUID()))
	if err != nil {
		return err
	}
	selector := client.MatchingLabelsSelector{Selector: authority.SelectorOf(roster.Sets[authority.ClusterAPI])}
	counted, err := served.List(ctx, r.Live, s.Kind.ClusterAPIGVK(), s.Pair.ClusterAPI, selector)
	if served.Missing(err) {
		return nil // the mirror waits for the CRD (WaitsForKind)
	}
	if err != nil {
		return err
	}
	for api, machines := range map[authority.API][]*unstructured.Unstructured{authority.MachineAPI: run, authority.ClusterAPI: counted} {
		for _, m := range machines {
			roster.Machines[api] = append(roster.Machines[api], pairs.ObjectOf(m))
		}
	}
	s.Full = roster.Full(s.Name)
	return nil
}

// checks finds out whether a MachineHealthCheck of Cluster API still acts on a Machine that a check has marked. If the kind of the checks is not served, or the
// Cluster is paused, no check acts.
func (r Reader) checks(ctx context.Context, from client.Reader, s *pairs.State) error {
	if !status.Judged(s) {
		return nil
	}
	if cluster := pairs.ObjectOf(s.Cluster); cluster != nil && cluster.Metadata.Name == authority.ClusterOf(pairs.ObjectOf(s.Core)) &&
		authority.PausesAll(cluster) {
		s.Unchecked = true
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

// judgeParent reads what a deletion must know about the owner of the mirror, if the mirror is being deleted. An owner that Poundlock may not read counts as
// gone. So a deletion that may come from the garbage collector is never taken for a user's deletion.
func (r Reader) judgeParent(ctx context.Context, s *pairs.State) (err error) {
	var owner *unstructured.Unstructured
	if mirror, ref := deletion.OwnerWithoutTwin(s); ref != nil {
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		if owner, err = served.Read(ctx, r.Live, kind, mirror.GetNamespace(), ref.Name); err != nil && !served.Missing(err) && !apierrors.IsForbidden(err) {
			return err
		}
	}
	deletion.JudgeParent(s, owner)
	return nil
}

// children reads the objects that a mirror which is being deleted owns, and the MachineSets that would adopt them.
func (r Reader) children(ctx context.Context, from client.Reader, s *pairs.State) (err error) {
	if s.Children, err = owned(ctx, from, s); err != nil || len(s.Children) == 0 {
		return err
	}
	mirror, side := s.Mirror()
	sets, err := served.List(ctx, from, s.Kind.GVKOf(side), mirror.GetNamespace())
	if err != nil {
		return err
	}
	s.Adopters = deletion.Adopters(s.Children, mirror, sets)
	return nil
}

// Owned reads from the API server the Machines that a mirror, while it is being deleted, owns now.
func (r Reader) Owned(ctx context.Context, s *pairs.State) ([]*unstructured.Unstructured, error) {
	return owned(ctx, present{r.Live, s}, s)
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

// uncopied is an option for lists whose objects are neither changed nor kept. Copying each Machine of a large fleet takes more memory than the cache itself, in
// which objects share equal parts.
const uncopied = client.UnsafeDisableDeepCopy

// marked reads the Machines of a set that the autoscaler has marked for deletion, if the autoscaler wants the set to have fewer Machines. The marks are on the
// side to which the autoscaler writes.
func (r Reader) marked(ctx context.Context, from client.Reader, s *pairs.State) error {
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

// Surroundings reads from the API server whether the namespace, CRD or Cluster that a pair lives in is being deleted. It does so for a pair with a part that is
// missing or is being deleted, because that may be the reason. It reads nothing for a complete pair.
func (r Reader) Surroundings(ctx context.Context, s *pairs.State) error {
	if s.Complete() {
		return nil
	}
	why, err := facts.FirstLeaving(ctx, r.Live, mirroring.LivesIn(s), func(authority.Surrounding, bool) bool { return true })
	if err == nil && why != "" {
		s.Leaves(why)
	}
	return err
}

// Cluster reads from the API server whether the Cluster, which is to own what is created, is being deleted or is gone.
func (r Reader) Cluster(ctx context.Context, s *pairs.State) error {
	cluster := authority.Surrounding{Kind: authority.Cluster, Namespace: s.Pair.ClusterAPI, Name: s.Env.ClusterName}
	why, _, err := facts.Leaving(ctx, r.Live, cluster)
	if err == nil && why != "" {
		s.Leaves(why)
	}
	return err
}

// Migration reads the feature gate if a deletion depends on it. While the gate is off, the Machine API's controllers delete what belongs to a Cluster API
// MachineSet.
func (r Reader) Migration(ctx context.Context, s *pairs.State) (err error) {
	if deletion.Of(s).Gated() {
		s.Gate, err = r.Gate(ctx)
	}
	return err
}
