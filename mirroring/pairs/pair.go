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

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// InfrastructureKind is the kind of the object that has the platform of the cluster.
var InfrastructureKind = configv1.GroupVersion.WithKind("Infrastructure")

// State is everything that one pass over a pair has read. Objects that do not exist are nil.
type State struct {
	Kind authority.Kind
	Pair authority.Pair
	Name string

	// Env is what conversions need. Missing is a sentence about why there is no Env, "" if there is one, and Reason is the condition's reason for it.
	Env             conversion.Env
	Reason, Missing string
	Cluster         *unstructured.Unstructured
	// Surroundings is whether what the pair lives in stays or is being deleted, as far as this pass has read it.
	Surroundings authority.Surroundings

	// Answered reports whether the API server has accepted the creation or apply of just this object, and added to it; nil: nothing is remembered.
	Answered func(want *unstructured.Unstructured) bool

	// Gate is the state of the feature gate, as far as this pass has read it.
	Gate authority.Migration

	// Unserved is a kind that the pair needs and that the API server does not serve; the zero value: it serves all of them.
	Unserved schema.GroupVersionKind

	// MachineAPI and Core are the pair; Infra is the infrastructure object that Core refers to, or would.
	MachineAPI, Core, Infra *unstructured.Unstructured
	// Referrer is another Cluster API Machine that refers to an infrastructure machine by the name that Infra has yet to get; "" for none.
	Referrer string
	// InfraInstance is what the provider keeps for the instance beside Infra.
	InfraInstance *unstructured.Unstructured
	// InstancesUnserved reports that the API server does not serve the kind of InfraInstance, and has no definition of it.
	InstancesUnserved bool
	// Templates are the infrastructure templates that the mirror made for this MachineSet, and those with a name as the mirror would give it. Used has the names
	// of all templates that something refers to. Used is nil where no template requires that question.
	Templates []*unstructured.Unstructured
	Used      sets.Set[string]
	// Parents are the MachineSets that own either side, by API.
	Parents map[authority.API]*unstructured.Unstructured
	Parent  authority.Parent
	// Unchecked reports two things: Cluster API's check has marked a Machine for its MachineSet there, which is paused, and no check acts any more that would
	// remove the mark.
	Unchecked bool
	// Made is the object that this pass has just created, as the API server stored it.
	Made types.UID
	// Children are the objects that the mirror owns, while it is being deleted and may have to let go of them.
	Children []*unstructured.Unstructured
	// Adopters are other MachineSets by the names of those Children that they adopt once the mirror lets go of them.
	Adopters map[string]string
	// MarkedMachines are the pairs of the Machines that the autoscaler has marked, where it wants this set to have fewer.
	MarkedMachines []*State

	// read keeps the Shape of MachineAPI: many callers need it, and each read costs a marshalling.
	read struct {
		of    *unstructured.Unstructured
		shape authority.Shape
	}
	// converted keeps what MachineAPI is in Cluster API: a pass asks for it before each of its writes, and few are writes of MachineAPI.
	converted struct {
		of   *unstructured.Unstructured
		twin core.Twin
		errs field.ErrorList
	}
}

// ToClusterAPI converts the Machine API object. The caller may change what it gets.
func (s *State) ToClusterAPI() (core.Twin, field.ErrorList) {
	c := &s.converted
	if c.of != s.MachineAPI {
		c.of = s.MachineAPI
		c.twin, c.errs = core.ToClusterAPI(s.Kind.Name, s.MachineAPI, s.Env)
	}
	return core.Twin{Core: c.twin.Core.DeepCopy(), Infra: c.twin.Infra.DeepCopy()}, c.errs
}

// Store puts an object that a write returned in the place of what was read; nil: it is gone.
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

// findInfra takes the template that a new Cluster API object refers to from those that were made before it.
func (s *State) findInfra() {
	if i := slices.IndexFunc(s.Templates, func(o *unstructured.Unstructured) bool { return o.GetName() == s.InfraName() }); s.Infra == nil && i >= 0 {
		s.Infra = s.Templates[i]
	}
}

// Absent notes that an object of the cluster's name is missing.
func (s *State) Absent(kind string) {
	env := s.Env
	if env.Example = providerSpec(s.MachineAPI, "spec", "providerSpec", "value"); env.Example == nil {
		env.Example = providerSpec(s.MachineAPI, "spec", "template", "spec", "providerSpec", "value")
	}
	missing := env.Absent(kind, s.Cluster != nil, fmt.Sprintf("a %s can be mirrored", s.Kind.Name))
	s.Reason, s.Missing = missing.Reason, missing.Message
}

// providerSpec is nil where there is none.
func providerSpec(o *unstructured.Unstructured, path ...string) map[string]any {
	if o == nil {
		return nil
	}
	found, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	content, _ := found.(map[string]any)
	return content
}

// ClusterAbsent notes that the Cluster is missing. If the pair had a mirror, the Cluster existed before.
func (s *State) ClusterAbsent() {
	s.Absent("Cluster")
	if s.Marked(s.MachineAPI) {
		s.Reason, s.Missing = ReasonSurroundings, fmt.Sprintf("Cluster %s/%s does not exist", s.Pair.ClusterAPI, s.Env.ClusterName)+Recreates
	}
}

// InfraClusterAbsent notes that the platform's infrastructure cluster object is missing. Without a Cluster that is noted already.
func (s *State) InfraClusterAbsent() {
	kind := s.Env.Platform.InfraCluster.Kind
	switch PresenceOf(s.Cluster) {
	case authority.Deleting:
		s.Reason, s.Missing = ReasonSurroundings,
			fmt.Sprintf("Cluster %s/%s is being deleted, and %s of that name does not exist", s.Pair.ClusterAPI, s.Env.ClusterName, kind)+Recreates
	case authority.Present:
		s.Absent(kind)
	case authority.Absent:
	}
}

// InfraKind is the kind of the infrastructure object on the cluster's platform.
func (s *State) InfraKind() schema.GroupVersionKind {
	if s.Kind.Infra == authority.InfraMachineTemplate {
		return s.Env.Platform.InfraMachineTemplate.GroupVersionKind
	}
	return s.Env.Platform.InfraMachine.GroupVersionKind
}

// InfraName returns the name to which Core refers. An infrastructure machine that is yet to be created has its Machine's name. While Core is not yet the
// mirror's own (a user made it, paused), the object that Core refers to is not Poundlock's to overwrite.
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

// InfraRef is where the core object names its infrastructure object.
func (s *State) InfraRef() []string {
	if s.Kind.Infra == authority.InfraMachineTemplate {
		return []string{"spec", "template", "spec", "infrastructureRef", "name"}
	}
	return []string{"spec", "infrastructureRef", "name"}
}

// PlatformKind returns the kind by which a mirrored pair names its platform: that of its infrastructure object, or of the providerSpec where the Cluster API
// object is gone. "" where the pair names none.
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

// RunsAnother names another Machine whose instance the pair's infrastructure machine runs; "" for none, and for every other object.
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

// IsTemplate reports whether the mirror made a template for this MachineSet. A person's copy of one has its mark, and another name.
func (s *State) IsTemplate(o *unstructured.Unstructured) bool {
	return s.IsMirror(o) && core.IsTemplateName(s.Name, o.GetName())
}

// Mark is the value of the annotation that the mirrors of the pair have.
func (s *State) Mark() string { return s.Kind.Name + "/" + s.Name }

// ParentName returns the name of the MachineSet that owns the pair's object. The sets of both sides have the same name.
func (s *State) ParentName() string {
	for _, o := range []*unstructured.Unstructured{s.MachineAPI, s.Core} {
		if ref := ControllerOf(o); ref != nil && ref.Kind == s.Kind.Parent {
			return ref.Name
		}
	}
	return ""
}

// SetParent notes whether the parent of one side is there.
func (s *State) SetParent(side authority.API, p authority.Presence) {
	if side == authority.MachineAPI {
		s.Parent.MachineAPI = p
		return
	}
	s.Parent.ClusterAPI = p
}

// Detached reports whether o stays when owner is deleted.
func Detached(o, owner *unstructured.Unstructured, side authority.API) bool {
	ownedBy := slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
	_, marked := o.GetAnnotations()[authority.DetachedAnnotation]
	return !ownedBy || side == authority.MachineAPI && marked && !Runs(o)
}

// Runs reports whether the Machine API is authoritative for a Machine API object, or may be in a moment: the garbage collector must not delete that object,
// whether it is marked as detached or not.
func Runs(o *unstructured.Unstructured) bool {
	shape := ShapeOf(o)
	return shape.Current == authority.Migrating || authority.Authoritative(shape) != authority.ClusterAPI
}

// Shape returns the Machine API object's fields of authority.
func (s *State) Shape() authority.Shape {
	if s.read.of != s.MachineAPI {
		s.read.of, s.read.shape = s.MachineAPI, ShapeOf(s.MachineAPI)
	}
	return s.read.shape
}

// Source is the API from which the pair is mirrored.
func (s *State) Source() authority.API { return authority.Source(s.Shape()) }

// Authoritative returns the API whose object a deletion is about. That is the source. Before the source is settled, it is an adoption by Cluster API that was
// requested: otherwise a Cluster API Machine that is deleted at once would be recreated from its twin.
//
// A Machine API object that is deleted before the source is settled, as in a restore, deletes its former mirror, too. The mark shows that the mirror was the
// Machine API's, and while the mirror is paused no controller would delete it.
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

// Mirror returns the core object that is not authoritative, and its side. The object is nil where no API is authoritative, or where it does not exist.
func (s *State) Mirror() (*unstructured.Unstructured, authority.API) {
	side := s.Authoritative().Other()
	return s.On(side), side
}

// On is the core object of a side, nil if it does not exist.
func (s *State) On(side authority.API) *unstructured.Unstructured {
	switch side {
	case authority.MachineAPI:
		return s.MachineAPI
	case authority.ClusterAPI:
		return s.Core
	}
	return nil
}

// ShapeOf are the fields of authority of a Machine API object.
func ShapeOf(o *unstructured.Unstructured) authority.Shape { return authority.Read(ObjectOf(o)) }

// ObjectOf returns an object in the form in which policies read it.
func ObjectOf(o *unstructured.Unstructured) *policies.Object {
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

// PresenceOf reports whether an object is there, or is being deleted; nil: it is not there.
func PresenceOf(o *unstructured.Unstructured) authority.Presence {
	switch {
	case o == nil:
		return authority.Absent
	case o.GetDeletionTimestamp() != nil:
		return authority.Deleting
	}
	return authority.Present
}

// ControllerOf is the owner that controls an object, nil for none.
func ControllerOf(o *unstructured.Unstructured) *metav1.OwnerReference {
	if o == nil {
		return nil
	}
	return metav1.GetControllerOf(o)
}

// ReasonSurroundings is why a pair is not mirrored while what it lives in is being deleted.
const ReasonSurroundings = "SurroundingsDeleted"

// Recreates ends the sentence that says what is being deleted, or is gone.
const Recreates = ": Poundlock deletes nothing because of that, and recreates the mirror once it exists again"

// Leaves notes that something that the pair lives in is being deleted, or is gone. A reason that is known already stays.
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

// Begins reports whether a write is the first one to a pair that, as far as was read, has never been mirrored. The API server then checks what the pass has
// read, even if that came from a stale cache: the sync finalizer is put on the Machine API object at the version that was read, and the mirror's objects are
// created only where there is nothing.
func (s *State) Begins(w *Write) bool {
	return PresenceOf(s.MachineAPI) == authority.Present && s.Shape().Current == authority.MachineAPI && s.Shape().SynchronizedGeneration == 0 &&
		!s.Marked(s.MachineAPI) && s.Core == nil && s.Infra == nil && s.InfraInstance == nil && len(s.Templates) == 0 &&
		w.Verb == Patch && w.Object == s.MachineAPI
}

// Propagated reports whether a MachineSet of Cluster API's owns the Machine and acts: it is authoritative, or the Machine API's set is gone.
func (s *State) Propagated() bool {
	twin := s.Parents[authority.MachineAPI]
	return s.BelongsTo(s.Parents[authority.ClusterAPI]) && (twin == nil || authority.Authoritative(ShapeOf(twin)) == authority.ClusterAPI)
}

// InstanceKnown reports whether the Machines of both APIs have the ID of the instance.
func (s *State) InstanceKnown() bool {
	return s.Core != nil && s.MachineAPI != nil && authority.SameInstance(ObjectOf(s.Core), ObjectOf(s.MachineAPI))
}

// BelongsTo reports whether the Cluster API object names the set as its owner.
func (s *State) BelongsTo(set *unstructured.Unstructured) bool {
	owner := ControllerOf(s.Core)
	return owner != nil && set != nil && owner.UID == set.GetUID()
}

// ClusterOwns is a reference to the Cluster.
func (s *State) ClusterOwns() metav1.OwnerReference { return OwnedBy(s.Cluster, false) }

// OwnedBy is a reference to an owner, and whether it controls.
func OwnedBy(o *unstructured.Unstructured, controls bool) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(),
		Controller: &controls, BlockOwnerDeletion: &yes}
}

// InstanceLeft reports whether the infrastructure machine names an instance. The provider's controller removes the object after it has terminated the
// instance.
func (s *State) InstanceLeft() bool {
	return s.Kind.Infra == authority.InfraMachine && s.Infra != nil && Nested(s.Infra, "spec", "providerID") != ""
}

// InstanceHeld reports whether the provider's finalizer is on the object that the provider keeps for the instance. Then the deletion of that object
// terminates the instance. Without the finalizer the object is gone at once, and the instance stays. OpenStack's provider adds the finalizer only after it
// has looked up all that the server refers to.
func (s *State) InstanceHeld() bool {
	o := s.InfraInstance
	return o != nil && slices.Contains(o.GetFinalizers(), authority.InfraFinalizer(o.GroupVersionKind().Group, o.GetKind()))
}

// Marked reports whether an object has the finalizer or the mark of the mirror.
func (s *State) Marked(o *unstructured.Unstructured) bool {
	return o != nil && (slices.Contains(o.GetFinalizers(), authority.SyncFinalizer) || s.IsMirror(o))
}

// OwnersWithout are the owner references of o but those to owner.
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

// ForeignParent reports whether the Cluster API set of the parent's name is a stranger. No mirror must belong to a stranger's set: that set would count the
// mirror among its Machines, and delete it as one too many.
func (s *State) ForeignParent() bool {
	parent, _ := authority.KindNamed(s.Kind.Parent)
	mapi := s.Parents[authority.MachineAPI]
	return authority.Source(ShapeOf(mapi)) == authority.MachineAPI &&
		authority.ForeignTo(parent, ObjectOf(mapi), ObjectOf(s.Parents[authority.ClusterAPI])) != authority.NotForeign
}

// Replicas are the wanted replicas of a set, and whether it has any number.
func Replicas(o *unstructured.Unstructured) (n int64, has bool) {
	v, has, err := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
	n, isNumber := jsonnumbers.Integer(v)
	return n, has && err == nil && isNumber
}

// MirrorSide is the side to which the pair is mirrored.
func (s *State) MirrorSide() policies.Side {
	if s.Source() == authority.ClusterAPI {
		return policies.SideMachineAPI
	}
	return policies.SideClusterAPI
}

// Lacks notes the first kind of a pair that is not served. Without the Infrastructure's kind, the Infrastructure is missing: the conversion reports it.
func (s *State) Lacks(kind schema.GroupVersionKind) {
	if s.Unserved.Empty() && kind != InfrastructureKind {
		s.Unserved = kind
	}
}

// LacksInstances notes that the API server does not serve the kind of InfraInstance. Where its definition exists, the objects may exist in another version, and
// the pair waits: nothing follows from their absence. Otherwise the provider has no such kind.
func (s *State) LacksInstances(kind schema.GroupVersionKind, defined bool) {
	if s.InstancesUnserved = !defined; defined {
		s.Lacks(kind)
	}
}

// WaitsForKind reports whether the pair must not change until a kind is served. That objects disappear with their kind is no request to delete a Machine. A
// Machine API object for which the Machine API is authoritative may still be deleted.
func (s *State) WaitsForKind() bool {
	return !s.Unserved.Empty() && (PresenceOf(s.MachineAPI) != authority.Deleting || s.Source() != authority.MachineAPI)
}

// MirrorOnly returns o if it is the mirror, and nil for an object that is somebody else's: nothing is reported on that.
func (s *State) MirrorOnly(o *unstructured.Unstructured) *unstructured.Unstructured {
	if s.IsMirror(o) {
		return o
	}
	return nil
}
