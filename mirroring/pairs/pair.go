// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"encoding/json"
	"fmt"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// InfrastructureKind is the kind of the object that names the platform of the cluster.
var InfrastructureKind = configv1.GroupVersion.WithKind("Infrastructure")

// deploymentsKind is the kind of a list of Cluster API's MachineDeployments.
var deploymentsKind = clusterv1.GroupVersion.WithKind(authority.MachineDeployment + "List")

// State is everything that one pass over a pair has read. Objects that do not exist are nil.
type State struct {
	Kind authority.Kind
	Pair authority.Pair
	Name string

	// Env has what conversions need. If Env could not be read, Missing is a sentence that says why, and Reason is the reason of the condition that reports it.
	// Otherwise both are "".
	Env             conversion.Env
	Reason, Missing string
	Cluster         *unstructured.Unstructured
	// Surroundings shows whether the namespace, CRD or Cluster that the pair lives in stays or is being deleted, as far as this pass has read it.
	Surroundings authority.Surroundings

	// Answered reports whether the API server has already accepted a creation or apply of exactly this object, and has added something to it. If Answered is nil,
	// nothing is remembered.
	Answered func(want *unstructured.Unstructured) bool

	// Gate is the state of the feature gate, as far as this pass has read it.
	Gate authority.Migration

	// Unserved is a kind that the pair needs and that the API server does not serve. It is empty if the API server serves all kinds of the pair.
	Unserved schema.GroupVersionKind

	// MachineAPI and Core are the two objects of the pair: the Machine API object and the Cluster API object. Infra is the infrastructure object that Core refers
	// to, or would refer to if it existed.
	MachineAPI, Core, Infra *unstructured.Unstructured
	// Referrer is the name of another Cluster API Machine that already refers to an infrastructure machine with the name that Infra will have. Infra does not
	// exist yet. Referrer is "" if there is no such Machine.
	Referrer string
	// InfraInstance is the object that the provider keeps for the instance in addition to Infra, such as a VSphereVM.
	InfraInstance *unstructured.Unstructured
	// InstancesUnserved reports that the API server does not serve the kind of InfraInstance and has no CRD for it.
	InstancesUnserved bool
	// Templates are the infrastructure templates that the mirror made for this MachineSet, and those with a name that the mirror would give. Used has the names of
	// all templates that something refers to. Used is nil if no template could be deleted, so that nobody needs the names.
	Templates []*unstructured.Unstructured
	Used      sets.Set[string]
	// Parents are the MachineSets that own the objects of the pair, by API.
	Parents map[authority.API]*unstructured.Unstructured
	Parent  authority.Parent
	// Full is a sentence that says why the mirror of a Machine may not join Cluster API's MachineSet (authority.Roster.Full); "" if it may.
	Full string
	// Unchecked reports two things. A MachineHealthCheck of Cluster API has marked the Machine for deletion by its Cluster API MachineSet, which is paused. And no
	// check acts any more that would remove the mark.
	Unchecked bool
	// Made is the UID of the object that this pass has just created.
	Made types.UID
	// Children are the objects that the mirror owns. They are read only while the mirror is being deleted, because it may have to release them.
	Children []*unstructured.Unstructured
	// Adopters has the names of the other MachineSets that would adopt Children once the mirror releases them. The keys are the names of the children.
	Adopters map[string]string
	// MarkedMachines are the pairs of those Machines that the autoscaler has marked for deletion. They are read if the autoscaler wants this set to have fewer
	// Machines.
	MarkedMachines []*State

	// read caches the Shape of MachineAPI, because many callers need it and each computation marshals the object.
	read struct {
		of    *unstructured.Unstructured
		shape authority.Shape
	}
	// converted caches the conversion of MachineAPI to Cluster API. A pass needs the conversion before each of its writes, and few of these writes change
	// MachineAPI.
	converted struct {
		of   *unstructured.Unstructured
		twin core.Twin
		errs field.ErrorList
	}
}

// ToClusterAPI converts the Machine API object. The result is a copy, which the caller may change.
func (s *State) ToClusterAPI() (core.Twin, field.ErrorList) {
	c := &s.converted
	if c.of != s.MachineAPI {
		c.of = s.MachineAPI
		c.twin, c.errs = core.ToClusterAPI(s.Kind.Name, s.MachineAPI, s.Env)
	}
	return core.Twin{Core: c.twin.Core.DeepCopy(), Infra: c.twin.Infra.DeepCopy()}, c.errs
}

// Store replaces an object of the state (was) by the object that a write returned (now); now is nil if the object is gone.
func (s *State) Store(was, now *unstructured.Unstructured) {
	for _, m := range s.MarkedMachines {
		if m.Name == was.GetName() && m.Kind.Name == was.GetKind() {
			m.Store(was, now)
		}
	}
	switch at := was.GroupVersionKind(); {
	case at == s.Kind.MachineAPIGVK() && was.GetName() == s.Name:
		s.MachineAPI = now
	case at == s.Kind.ClusterAPIGVK() && was.GetName() == s.Name:
		s.Core = now
		s.findInfra()
	case at == s.InfraKind():
		s.storeInfra(was, now)
	case at == s.Env.Platform.InfraInstance.GroupVersionKind:
		s.InfraInstance = now
	default:
		s.Children = slices.DeleteFunc(s.Children, func(o *unstructured.Unstructured) bool { return o.GetName() == was.GetName() })
	}
}

func (s *State) storeInfra(was, now *unstructured.Unstructured) {
	s.Templates = slices.DeleteFunc(s.Templates, func(o *unstructured.Unstructured) bool { return o.GetName() == was.GetName() })
	if s.Kind.Infra == authority.InfraMachineTemplate && now != nil {
		s.Templates = append(s.Templates, now)
	}
	if was.GetName() == s.InfraName() {
		s.Infra = now
	}
}

// findInfra sets Infra to the template that a new Cluster API object refers to, if that template was created before the object.
func (s *State) findInfra() {
	if i := slices.IndexFunc(s.Templates, func(o *unstructured.Unstructured) bool { return o.GetName() == s.InfraName() }); s.Infra == nil && i >= 0 {
		s.Infra = s.Templates[i]
	}
}

// Absent stores in Reason and Missing that the object of this kind that has the cluster's name is missing.
func (s *State) Absent(kind string) {
	env := s.Env
	if env.Example = providerSpec(s.MachineAPI, "spec", "providerSpec", "value"); env.Example == nil {
		env.Example = providerSpec(s.MachineAPI, "spec", "template", "spec", "providerSpec", "value")
	}
	missing := env.Absent(kind, s.Cluster != nil, fmt.Sprintf("a %s can be mirrored", s.Kind.Name))
	s.Reason, s.Missing = missing.Reason, missing.Message
}

// providerSpec returns the content of the providerSpec at a path of an object, nil if there is none.
func providerSpec(o *unstructured.Unstructured, path ...string) map[string]any {
	if o == nil {
		return nil
	}
	found, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	content, _ := found.(map[string]any)
	return content
}

// ClusterAbsent stores in Reason and Missing that the Cluster is missing. If the pair has a mirror, the Cluster existed before, and the sentence says so.
func (s *State) ClusterAbsent() {
	s.Absent("Cluster")
	if s.Marked(s.MachineAPI) {
		s.Reason, s.Missing = ReasonSurroundings, fmt.Sprintf("Cluster %s/%s does not exist", s.Pair.ClusterAPI, s.Env.ClusterName)+Recreates
	}
}

// InfraClusterAbsent stores in Reason and Missing that the platform's infrastructure cluster object is missing. If the Cluster is missing too, ClusterAbsent
// has already stored that.
func (s *State) InfraClusterAbsent() {
	kind := s.Env.Platform.InfraCluster.Kind
	switch PresenceOf(s.Cluster) {
	case authority.Deleting:
		s.Reason, s.Missing = ReasonSurroundings,
			fmt.Sprintf("Cluster %s/%s is being deleted, and no %s of that name exists", s.Pair.ClusterAPI, s.Env.ClusterName, kind)+Recreates
	case authority.Present:
		s.Absent(kind)
	case authority.Absent:
	}
}

// InfraKind returns the kind of the infrastructure object on the cluster's platform: the kind of its templates for a MachineSet, else the kind of its machines.
func (s *State) InfraKind() schema.GroupVersionKind {
	if s.Kind.Infra == authority.InfraMachineTemplate {
		return s.Env.Platform.InfraMachineTemplate.GroupVersionKind
	}
	return s.Env.Platform.InfraMachine.GroupVersionKind
}

// InfraName returns the name of the infrastructure object to which Core refers. An infrastructure machine that is yet to be created has its Machine's name.
// Core may not be the mirror's own yet, because a user made it, paused. Poundlock may not overwrite the object to which such a Core refers. In that case
// InfraName returns the Machine's name, or "" for a MachineSet.
func (s *State) InfraName() string {
	switch {
	case s.Kind.Infra == "":
		return ""
	case s.Core != nil && (s.IsMirror(s.Core) || s.Source() != authority.MachineAPI):
		return Nested(s.Core, s.InfraRef()...)
	case s.Kind.Infra == authority.InfraMachine:
		return s.Name
	}
	return ""
}

// InfraRef returns the path of the field in which the Cluster API object names its infrastructure object.
func (s *State) InfraRef() []string {
	if s.Kind.Infra == authority.InfraMachineTemplate {
		return []string{"spec", "template", "spec", "infrastructureRef", "name"}
	}
	return []string{"spec", "infrastructureRef", "name"}
}

// PlatformKind returns the kind by which a mirrored pair names its platform: the kind of its infrastructure object, or of its providerSpec if the Cluster API
// object is gone. It returns "" if the pair names no platform.
func (s *State) PlatformKind() string {
	switch {
	case s.Kind.Infra == "":
		return ""
	case s.Marked(s.Core):
		ref := s.InfraRef()
		return Nested(s.Core, append(ref[:len(ref)-1:len(ref)-1], "kind")...)
	case s.Core != nil || !s.Marked(s.MachineAPI):
		return ""
	case s.Kind.Infra == authority.InfraMachineTemplate:
		return Nested(s.MachineAPI, "spec", "template", "spec", "providerSpec", "value", "kind")
	}
	return Nested(s.MachineAPI, "spec", "providerSpec", "value", "kind")
}

// IsMirror reports whether the mirror made the object for this pair.
func (s *State) IsMirror(o *unstructured.Unstructured) bool {
	return o != nil && o.GetAnnotations()[authority.MirrorAnnotation] == s.Mark() && s.RunsAnother(o) == ""
}

// RunsAnother returns the name of another Machine whose instance the pair's infrastructure machine o runs. It returns "" if there is no such Machine, and if o
// is any other object.
func (s *State) RunsAnother(o *unstructured.Unstructured) string {
	if o == nil || o != s.Infra || s.Kind.Infra != authority.InfraMachine {
		return ""
	}
	own := []string{}
	for _, machine := range []*unstructured.Unstructured{s.MachineAPI, s.Core} {
		if machine != nil {
			own = append(own, Nested(machine, "spec", "providerID"))
		}
	}
	return authority.RunsAnother(o.GetKind(), s.Name, o.GetOwnerReferences(), Nested(o, "spec", "providerID"), own...)
}

// IsTemplate reports whether the mirror made the template o for this MachineSet. A user's copy of such a template has the same mark but another name, so the
// name counts as well.
func (s *State) IsTemplate(o *unstructured.Unstructured) bool {
	return s.IsMirror(o) && core.IsTemplateName(s.Name, o.GetName())
}

// Mark returns the value of the annotation that the mirrors of this pair have.
func (s *State) Mark() string { return s.Kind.Name + "/" + s.Name }

// ParentName returns the name of the MachineSet that owns the pair's object. The MachineSets of both APIs have the same name.
func (s *State) ParentName() string {
	for _, o := range []*unstructured.Unstructured{s.MachineAPI, s.Core} {
		if ref := ControllerOf(o); ref != nil && ref.Kind == s.Kind.Parent {
			return ref.Name
		}
	}
	return ""
}

// SetParent stores whether the owning MachineSet of one API exists.
func (s *State) SetParent(side authority.API, p authority.Presence) {
	if side == authority.MachineAPI {
		s.Parent.MachineAPI = p
		return
	}
	s.Parent.ClusterAPI = p
}

// Detached reports whether the object o stays when its former owner is deleted. It stays if it has no reference to the owner. A Machine API object also stays
// if it is marked as detached and Cluster API is authoritative for it (Runs is false).
func Detached(o, owner *unstructured.Unstructured, side authority.API) bool {
	ownedBy := slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
	_, marked := o.GetAnnotations()[authority.DetachedAnnotation]
	return !ownedBy || side == authority.MachineAPI && marked && !Runs(o)
}

// Runs reports whether the Machine API is authoritative for a Machine API object, or may become so at any moment. Then the garbage collector must not delete
// that object, even if it is marked as detached.
func Runs(o *unstructured.Unstructured) bool {
	shape := ShapeOf(o)
	return shape.Current == authority.Migrating || authority.Authoritative(shape) != authority.ClusterAPI
}

// Shape returns the fields of the Machine API object that say which API is authoritative.
func (s *State) Shape() authority.Shape {
	if s.read.of != s.MachineAPI {
		s.read.of, s.read.shape = s.MachineAPI, ShapeOf(s.MachineAPI)
	}
	return s.read.shape
}

// Source returns the API from which the pair is mirrored, Unset if that is not settled yet.
func (s *State) Source() authority.API { return authority.Source(s.Shape()) }

// Authoritative returns the API whose object a deletion is about. That is the source. Before the source is settled, it returns Cluster API if an adoption by
// Cluster API was requested. Otherwise a Cluster API Machine that is deleted at once would be recreated from its twin.
//
// If a Machine API object is deleted before the source is settled, as after a restore, Authoritative returns Machine API, so that the former mirror is deleted
// too. The mark shows that the mirror belonged to the Machine API object. The mirror is paused, so no controller would delete it.
func (s *State) Authoritative() authority.API {
	switch api := s.Source(); {
	case api != authority.Unset:
		return api
	case s.Shape().Requested == authority.ClusterAPI:
		return authority.ClusterAPI
	case s.Shape().Requested == authority.MachineAPI && PresenceOf(s.MachineAPI) == authority.Deleting && s.IsMirror(s.Core) && IsPaused(s.Core):
		return authority.MachineAPI
	}
	return authority.Unset
}

// Mirror returns the object that is not authoritative, and its API. The object is nil if no API is authoritative, or if the object does not exist.
func (s *State) Mirror() (*unstructured.Unstructured, authority.API) {
	side := s.Authoritative().Other()
	return s.On(side), side
}

// On returns the object of the pair in an API, nil if it does not exist.
func (s *State) On(side authority.API) *unstructured.Unstructured {
	switch side {
	case authority.MachineAPI:
		return s.MachineAPI
	case authority.ClusterAPI:
		return s.Core
	}
	return nil
}

// ShapeOf returns the fields of a Machine API object that say which API is authoritative.
func ShapeOf(o *unstructured.Unstructured) authority.Shape { return authority.Read(ObjectOf(o)) }

// ObjectOf returns an object in the form in which policies read it.
func ObjectOf(o *unstructured.Unstructured) *policies.Object {
	if o == nil {
		return nil
	}
	raw, err := json.Marshal(o.Object)
	if err != nil {
		return nil // cannot happen: what was read from JSON can be written as JSON
	}
	out, _ := policies.ParseObject(raw)
	return out
}

// PresenceOf returns whether an object is present, is being deleted, or, for nil, is absent.
func PresenceOf(o *unstructured.Unstructured) authority.Presence {
	switch {
	case o == nil:
		return authority.Absent
	case o.GetDeletionTimestamp() != nil:
		return authority.Deleting
	}
	return authority.Present
}

// ControllerOf returns the reference to the owner that controls an object, nil if there is none.
func ControllerOf(o *unstructured.Unstructured) *metav1.OwnerReference {
	if o == nil {
		return nil
	}
	return metav1.GetControllerOf(o)
}

// ReasonSurroundings is the reason of the condition while a pair is not mirrored because the namespace, CRD or Cluster that it lives in is being deleted.
const ReasonSurroundings = "SurroundingsDeleted"

// Recreates ends each sentence that names what is being deleted or is gone.
const Recreates = ": Poundlock deletes nothing because of that, and recreates the mirror once what is missing exists again"

// Leaves stores that the namespace, CRD or Cluster that the pair lives in is being deleted or is gone. An earlier reason in Reason and Missing stays.
func (s *State) Leaves(why string) {
	s.Surroundings = authority.Go
	if s.Missing == "" {
		s.Reason, s.Missing = ReasonSurroundings, why+Recreates
	}
}

// Complete reports whether all objects of the pair exist and none of them is being deleted.
func (s *State) Complete() bool {
	return PresenceOf(s.MachineAPI) == authority.Present && PresenceOf(s.Core) == authority.Present &&
		(s.Kind.Infra == "" || PresenceOf(s.Infra) == authority.Present)
}

// Begins reports whether w is the first write to a pair that has never been mirrored, as far as this pass has read. For such a write the API server checks what
// the pass has read, even if that came from a stale cache. It adds the sync finalizer to the Machine API object only at the version that was read, and creates
// the mirror's objects only if they do not exist.
func (s *State) Begins(w *Write) bool {
	return PresenceOf(s.MachineAPI) == authority.Present && s.Shape().Current == authority.MachineAPI && s.Shape().SynchronizedGeneration == 0 &&
		!s.Marked(s.MachineAPI) && s.Core == nil && s.Infra == nil && s.InfraInstance == nil && len(s.Templates) == 0 &&
		w.Verb == Patch && w.Object == s.MachineAPI
}

// Propagated reports whether a MachineSet of Cluster API owns the Machine and acts. It acts if it is authoritative, or if the Machine API's set is gone.
func (s *State) Propagated() bool {
	twin := s.Parents[authority.MachineAPI]
	return s.BelongsTo(s.Parents[authority.ClusterAPI]) && (twin == nil || authority.Authoritative(ShapeOf(twin)) == authority.ClusterAPI)
}

// InstanceKnown reports whether the Machines of both APIs exist and have the same instance ID.
func (s *State) InstanceKnown() bool {
	return s.Core != nil && s.MachineAPI != nil && authority.SameInstance(ObjectOf(s.Core), ObjectOf(s.MachineAPI))
}

// BelongsTo reports whether the MachineSet set is the controlling owner of the Cluster API object.
func (s *State) BelongsTo(set *unstructured.Unstructured) bool {
	owner := ControllerOf(s.Core)
	return owner != nil && set != nil && owner.UID == set.GetUID()
}

// ClusterOwns returns an owner reference to the Cluster.
func (s *State) ClusterOwns() metav1.OwnerReference { return OwnedBy(s.Cluster, false) }

// OwnedBy returns an owner reference to o. controls reports whether o is the controlling owner.
func OwnedBy(o *unstructured.Unstructured, controls bool) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(),
		Controller: &controls, BlockOwnerDeletion: &yes}
}

// InstanceLeft reports whether the infrastructure machine still names an instance. The provider's controller removes that object once it has terminated the
// instance.
func (s *State) InstanceLeft() bool {
	return s.Kind.Infra == authority.InfraMachine && s.Infra != nil && Nested(s.Infra, "spec", "providerID") != ""
}

// InstanceHeld reports whether the object that the provider keeps for the instance has the provider's finalizer. With the finalizer, deleting that object
// terminates the instance. Without it, the object is gone at once and the instance stays. OpenStack's provider adds the finalizer only after it has looked up
// everything that the server refers to.
func (s *State) InstanceHeld() bool {
	o := s.InfraInstance
	return o != nil && slices.Contains(o.GetFinalizers(), authority.InfraFinalizer(o.GroupVersionKind().Group, o.GetKind()))
}

// Marked reports whether an object has the finalizer or the mark of the mirror.
func (s *State) Marked(o *unstructured.Unstructured) bool {
	return o != nil && (slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) || s.IsMirror(o))
}

// OwnersWithout returns the owner references of o except those to owner.
func OwnersWithout(o, owner *unstructured.Unstructured) []metav1.OwnerReference {
	refs := []metav1.OwnerReference{}
	for _, r := range o.GetOwnerReferences() {
		if r.UID != owner.GetUID() {
			refs = append(refs, r)
		}
	}
	return refs
}

// IsPaused reports whether an object of Cluster API has the pause annotation.
func IsPaused(o *unstructured.Unstructured) bool {
	if o == nil {
		return false
	}
	_, paused := o.GetAnnotations()[authority.PausedAnnotation]
	return paused
}

// ForeignParent reports whether the Cluster API MachineSet with the name of the owning set is not the mirror of that set. Then no mirror may belong to it,
// because it would count the mirror among its Machines and delete it as a surplus one.
func (s *State) ForeignParent() bool {
	parent, _ := authority.KindNamed(s.Kind.Parent)
	mapi := s.Parents[authority.MachineAPI]
	return authority.Source(ShapeOf(mapi)) == authority.MachineAPI &&
		authority.ForeignTo(parent, ObjectOf(mapi), ObjectOf(s.Parents[authority.ClusterAPI])) != authority.NotForeign
}

// Replicas returns spec.replicas of a set, and whether the field has a number.
func Replicas(o *unstructured.Unstructured) (n int64, has bool) {
	v, has, err := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
	n, isNumber := jsonnumbers.Integer(v)
	return n, has && err == nil && isNumber
}

// MirrorSide returns the API to which the pair is mirrored.
func (s *State) MirrorSide() policies.Side {
	if s.Source() == authority.ClusterAPI {
		return policies.SideMachineAPI
	}
	return policies.SideClusterAPI
}

// Lacks stores in Unserved that the API server does not serve a kind. The first such kind stays. It ignores the kind Infrastructure, because the conversion
// already reports that the Infrastructure is missing. It ignores the kind MachineDeployment, because a pair needs none: if the kind is not served, no
// MachineDeployment refers to a template.
func (s *State) Lacks(kind schema.GroupVersionKind) {
	if s.Unserved.Empty() && kind != InfrastructureKind && kind != deploymentsKind {
		s.Unserved = kind
	}
}

// LacksInstances stores that the API server does not serve the kind of InfraInstance. If the CRD of that kind exists (defined), the objects may exist in
// another version, and the pair waits, because nothing follows from their absence. Otherwise the provider has no such kind.
func (s *State) LacksInstances(kind schema.GroupVersionKind, defined bool) {
	if s.InstancesUnserved = !defined; defined {
		s.Lacks(kind)
	}
}

// WaitsForKind reports whether the pair must not change until a kind is served again. If objects disappear together with their kind, nobody has asked to delete
// a Machine. A Machine API object may still be deleted if the Machine API is authoritative for it.
func (s *State) WaitsForKind() bool {
	return !s.Unserved.Empty() && (PresenceOf(s.MachineAPI) != authority.Deleting || s.Source() != authority.MachineAPI)
}

// MirrorOnly returns o if it is the mirror, else nil. Nothing is reported on an object that belongs to somebody else.
func (s *State) MirrorOnly(o *unstructured.Unstructured) *unstructured.Unstructured {
	if s.IsMirror(o) {
		return o
	}
	return nil
}
