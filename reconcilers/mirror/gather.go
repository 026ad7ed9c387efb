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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

var infrastructureKind = schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "Infrastructure"}

// state is everything that one pass looks at. Objects that do not exist are nil.
type state struct {
	kind authority.Kind
	pair authority.Pair
	name string

	// env is what conversions need; missing is a sentence why there is none, "" if there is, and reason its word.
	env             conversion.Env
	reason, missing string
	cluster         *unstructured.Unstructured
	// surroundings is what becomes of what the pair lives in, as far as it was asked (gatherSurroundings).
	surroundings authority.Surroundings

	// unserved is a kind that the pair needs and the API server does not serve, nor does it any object of it; the zero value: all are served.
	unserved schema.GroupVersionKind

	// machineAPI and core are the pair; infra is the infrastructure object that core refers to, or would.
	machineAPI, core, infra *unstructured.Unstructured
	// infraInstance is what the provider keeps for the instance beside infra.
	infraInstance *unstructured.Unstructured
	// instancesUnserved reports that the API server does not serve the kind of infraInstance.
	instancesUnserved bool
	// templates are the infrastructure templates that the mirror made for this MachineSet, and those that have a name as it would give them; used says by name
	// which of all templates something refers to. used is nil where no template needs the question.
	templates []*unstructured.Unstructured
	used      sets.Set[string]
	// parents are the MachineSets that own either side, by API.
	parents map[authority.API]*unstructured.Unstructured
	parent  authority.Parent
	// made is the object that this pass has just created, as the API server stored it.
	made types.UID
	// children are the objects that the mirror owns, while it is being deleted and may have to let go of them.
	children []*unstructured.Unstructured
	// markedMachines are the pairs of the Machines that the autoscaler has marked, where it wants this set to have fewer.
	markedMachines []*state

	// news are the events of what the pass has done so far.
	news []news

	// read keeps the Shape of machineAPI: many callers need it, and each read costs a marshalling.
	read struct {
		of    *unstructured.Unstructured
		shape authority.Shape
	}
}

// store puts an object that a write returned in the place of what was read; nil: it is gone.
func (s *state) store(was, now *unstructured.Unstructured) {
	for _, m := range s.markedMachines {
		if m.name == was.GetName() && m.kind.Name == was.GetKind() {
			m.store(was, now)
		}
	}
	switch at := was.GroupVersionKind(); {
	case at == s.kind.MachineAPIGVK() && was.GetName() == s.name:
		s.machineAPI = now
	case at == s.kind.ClusterAPIGVK() && was.GetName() == s.name:
		s.core = now
	case at == s.infraKind():
		s.storeInfra(was, now)
	case at == s.env.Platform.InfraInstance.GroupVersionKind:
		s.infraInstance = now
	default:
		s.children = slices.DeleteFunc(s.children, func(o *unstructured.Unstructured) bool { return o.GetName() == was.GetName() })
	}
}

func (s *state) storeInfra(was, now *unstructured.Unstructured) {
	s.templates = slices.DeleteFunc(s.templates, func(o *unstructured.Unstructured) bool { return o.GetName() == was.GetName() })
	if s.kind.Infra == authority.InfraMachineTemplate && now != nil {
		s.templates = append(s.templates, now)
	}
	if was.GetName() == s.infraName() {
		s.infra = now
	}
}

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

// absent notes that an object of the cluster's name is missing.
func (s *state) absent(kind string) {
	missing := s.env.Absent(kind, s.cluster != nil, fmt.Sprintf("a %s can be mirrored there", s.kind.Name))
	s.reason, s.missing = missing.Reason, missing.Message
}

func nested(o *unstructured.Unstructured, path ...string) string {
	v, _, _ := unstructured.NestedString(o.Object, path...)
	return v
}

func (r *reconciler) gatherInfra(ctx context.Context, from client.Reader, s *state) (err error) {
	name := s.infraName()
	if s.env.Platform.Name == "" || name == "" {
		return nil
	}
	if s.infra, err = get(ctx, from, s.infraKind(), s.pair.ClusterAPI, name); err != nil {
		return err
	}
	return s.gatherInfraInstance(ctx, from, name)
}

// gatherInfraInstance reads what the provider keeps for the instance, also when the machine of that name has gone before it. A cluster whose provider has no such
// kind has no such object.
func (s *state) gatherInfraInstance(ctx context.Context, from client.Reader, infra string) (err error) {
	kind := s.env.Platform.InfraInstance.GroupVersionKind
	if kind.Empty() || s.kind.Infra != authority.InfraMachine {
		return nil
	}
	machine := s.infra
	if machine == nil {
		machine = &unstructured.Unstructured{}
		machine.SetNamespace(s.pair.ClusterAPI)
		machine.SetName(infra)
	}
	if p, ok := from.(present); ok {
		from = p.Reader
	}
	s.infraInstance, err = facts.InfraInstance(ctx, from, kind, machine)
	if s.instancesUnserved = served.Missing(err); s.instancesUnserved {
		return nil
	}
	return err
}

func (s *state) infraKind() schema.GroupVersionKind {
	if s.kind.Infra == authority.InfraMachineTemplate {
		return s.env.Platform.InfraMachineTemplate.GroupVersionKind
	}
	return s.env.Platform.InfraMachine.GroupVersionKind
}

// infraName is what core refers to; an infrastructure machine that is yet to be made has its Machine's name. What an
// object refers to that the mirror has yet to make its own (a user made it, paused) is not Poundlock's to overwrite.
func (s *state) infraName() string {
	switch {
	case s.kind.Infra == "":
		return ""
	case s.core != nil && (s.isMirror(s.core) || s.source() != authority.MachineAPI):
		return nested(s.core, s.infraRef()...)
	case s.kind.Infra == authority.InfraMachine:
		return s.name
	}
	return ""
}

// infraRef is where the core object names its infrastructure object.
func (s *state) infraRef() []string {
	if s.kind.Infra == authority.InfraMachineTemplate {
		return []string{"spec", "template", "spec", "infrastructureRef", "name"}
	}
	return []string{"spec", "infrastructureRef", "name"}
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

// isMirror reports whether the mirror made the object for this pair.
func (s *state) isMirror(o *unstructured.Unstructured) bool {
	return o != nil && o.GetAnnotations()[authority.MirrorAnnotation] == s.mark()
}

// isTemplate reports whether the mirror made a template for this MachineSet. A person's copy of one has its mark, and another name.
func (s *state) isTemplate(o *unstructured.Unstructured) bool {
	return s.isMirror(o) && core.IsTemplateName(s.name, o.GetName())
}

func (s *state) mark() string { return s.kind.Name + "/" + s.name }

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

// parentName is the name of the MachineSet that owns the source; both sides' have the same.
func (s *state) parentName() string {
	for _, o := range []*unstructured.Unstructured{s.machineAPI, s.core} {
		if ref := controllerOf(o); ref != nil && ref.Kind == s.kind.Parent {
			return ref.Name
		}
	}
	return ""
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

func (s *state) setParent(side authority.API, p authority.Presence) {
	if side == authority.MachineAPI {
		s.parent.MachineAPI = p
		return
	}
	s.parent.ClusterAPI = p
}

// gatherChildren lists what a mirror that is being deleted owns.
func (r *reconciler) gatherChildren(ctx context.Context, from client.Reader, s *state) (err error) {
	s.children, err = s.owned(ctx, from)
	return err
}

func (s *state) owned(ctx context.Context, from client.Reader) ([]*unstructured.Unstructured, error) {
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

// detached reports whether the end of owner is no longer the end of o.
func detached(o, owner *unstructured.Unstructured, side authority.API) bool {
	ownedBy := slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
	_, marked := o.GetAnnotations()[authority.DetachedAnnotation]
	return !ownedBy || side == authority.MachineAPI && marked && !runs(o)
}

// runs reports whether the Machine API is authoritative for a Machine API object: the collector must not get it, marked or not.
func runs(o *unstructured.Unstructured) bool {
	return authority.InCharge(shape(o)) != authority.ClusterAPI
}

// said returns the Machine API object's fields of authority.
func (s *state) said() authority.Shape {
	if s.read.of != s.machineAPI {
		s.read.of, s.read.shape = s.machineAPI, shape(s.machineAPI)
	}
	return s.read.shape
}

// source is the API from which the pair is mirrored.
func (s *state) source() authority.API { return authority.Source(s.said()) }

// inCharge is the API whose object a deletion is about: the source, and before that is settled, an adoption by Cluster
// API that was asked for. Without it, a Cluster API Machine that is deleted at once would be recreated from its twin.
func (s *state) inCharge() authority.API {
	if api := s.source(); api != authority.Unset || s.said().Requested != authority.ClusterAPI {
		return api
	}
	return authority.ClusterAPI
}

// mirror is the core object that is not authoritative, and its side; nil where no API is authoritative or it does not exist.
func (s *state) mirror() (*unstructured.Unstructured, authority.API) {
	side := s.inCharge().Other()
	return s.on(side), side
}

func (s *state) on(side authority.API) *unstructured.Unstructured {
	switch side {
	case authority.MachineAPI:
		return s.machineAPI
	case authority.ClusterAPI:
		return s.core
	}
	return nil
}

func shape(o *unstructured.Unstructured) authority.Shape { return authority.Read(object(o)) }

// object is the form in which policies read it.
func object(o *unstructured.Unstructured) *policies.Object {
	if o == nil {
		return nil
	}
	raw, err := json.Marshal(o.Object)
	if err != nil {
		return nil // what was read from JSON can be written
	}
	out, _ := policies.ParseObject(raw)
	return out
}

func presence(o *unstructured.Unstructured) authority.Presence {
	switch {
	case o == nil:
		return authority.Absent
	case o.GetDeletionTimestamp() != nil:
		return authority.Deleting
	}
	return authority.Present
}

func controllerOf(o *unstructured.Unstructured) *metav1.OwnerReference {
	if o == nil {
		return nil
	}
	return metav1.GetControllerOf(o)
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
