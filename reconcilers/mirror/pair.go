// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
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

// absent notes that an object of the cluster's name is missing.
func (s *state) absent(kind string) {
	missing := s.env.Absent(kind, s.cluster != nil, fmt.Sprintf("a %s can be mirrored there", s.kind.Name))
	s.reason, s.missing = missing.Reason, missing.Message
}

func nested(o *unstructured.Unstructured, path ...string) string {
	v, _, _ := unstructured.NestedString(o.Object, path...)
	return v
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

// isMirror reports whether the mirror made the object for this pair.
func (s *state) isMirror(o *unstructured.Unstructured) bool {
	return o != nil && o.GetAnnotations()[authority.MirrorAnnotation] == s.mark()
}

// isTemplate reports whether the mirror made a template for this MachineSet. A person's copy of one has its mark, and another name.
func (s *state) isTemplate(o *unstructured.Unstructured) bool {
	return s.isMirror(o) && core.IsTemplateName(s.name, o.GetName())
}

func (s *state) mark() string { return s.kind.Name + "/" + s.name }

// parentName is the name of the MachineSet that owns the source; both sides' have the same.
func (s *state) parentName() string {
	for _, o := range []*unstructured.Unstructured{s.machineAPI, s.core} {
		if ref := controllerOf(o); ref != nil && ref.Kind == s.kind.Parent {
			return ref.Name
		}
	}
	return ""
}

func (s *state) setParent(side authority.API, p authority.Presence) {
	if side == authority.MachineAPI {
		s.parent.MachineAPI = p
		return
	}
	s.parent.ClusterAPI = p
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

// reasonSurroundings is why a pair is not mirrored while what it lives in is being deleted.
const reasonSurroundings = "SurroundingsDeleted"

// recreates ends the sentence that says what is being deleted, or is gone.
const recreates = ": Poundlock deletes nothing because of that, and recreates the mirror once it exists again"
