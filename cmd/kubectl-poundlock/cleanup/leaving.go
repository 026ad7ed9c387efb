// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// Place names a namespace, CRD or Cluster that mirrors live in. Its kind is authority.Namespace, authority.Definition or authority.Cluster.
type Place struct{ Kind, Namespace, Name string }

// Leaving are the places (namespaces, CRDs and Clusters) that are being deleted. Mirrors are deleted with their place, although nobody requested that.
// Poundlock may be deleted with a place, too, and cannot be started again. So cleanup itself releases these mirrors.
type Leaving map[Place]bool

// takes reports whether a pair's object of an API is deleted with its place. kind is the kind whose CRD counts as such a place.
func (l Leaving) takes(kind authority.Kind, p inventory.Pair, side authority.API) bool {
	return p.Core()[side] != nil && l.goes(kind, p, side)
}

// goes reports whether a place of a pair's object of an API is being deleted, whether or not the object still exists. kind is as in takes.
func (l Leaving) goes(kind authority.Kind, p inventory.Pair, side authority.API) bool {
	return slices.ContainsFunc(kind.Surroundings(side, p.Namespaces, p.MachineAPI, p.ClusterAPI), func(s authority.Surrounding) bool {
		return l[Place{s.Kind, s.Namespace, s.Name}]
	})
}

// takesMirror reports whether a pair's mirror on a side, with everything that the mirror owns, is deleted because its namespace, Cluster or CRD is being
// deleted. For the mirror of a MachineSet the CRD of Machines is decisive, because the MachineSet's Machines are deleted with that CRD.
func (l Leaving) takesMirror(p inventory.Pair, side authority.API) bool {
	if child, ok := p.Kind.Children(); ok {
		return l.takes(child, p, side)
	}
	return l.takes(p.Kind, p, side)
}

// released returns the objects that lose every finalizer: Cluster API's mirrors that are deleted with their place, and the provider's objects of these mirrors.
// The controllers of all these objects are paused, so nothing else would ever remove the finalizers. No instance is terminated when they are removed.
func (l Leaving) released(f *inventory.Fleet) map[*policies.Object]bool {
	out := map[*policies.Object]bool{}
	for _, p := range f.Pairs {
		if !l.releases(p) {
			continue
		}
		out[p.ClusterAPI] = true
		for _, o := range []*policies.Object{p.Infra, p.InfraInstance} {
			if p.Kind.InfraActs() && o != nil && o.HasAnnotation(authority.PausedAnnotation) {
				out[o] = true
			}
		}
	}
	return out
}

func (l Leaving) releases(p inventory.Pair) bool {
	return p.MachineAPI != nil && p.Authoritative() == authority.MachineAPI && l.takesMirror(p, authority.ClusterAPI) && p.ClusterAPI.Deleting() &&
		p.ClusterAPI.HasAnnotation(authority.PausedAnnotation)
}

// detached returns the Machines that lose their owner reference to a MachineSet, each with the UID of that set. There are two cases. First, Cluster API runs
// the Machine, and a released mirror owns it: the Machine's controller would look for the deleted set, and never finish. Second, the owner is the mirror of a
// set that is deleted with its place, and the Machine is run in the mirror's API: the garbage collector would delete the Machine with the mirror.
func (l Leaving) detached(f *inventory.Fleet) map[*policies.Object]types.UID {
	out := map[*policies.Object]types.UID{}
	for _, set := range f.Pairs {
		var owner *policies.Object
		side := authority.ClusterAPI
		switch mirror, in := mirrorOf(set); {
		case l.releases(set):
			owner = set.ClusterAPI
		case l.orphans(set):
			owner, side = mirror, in
		default:
			continue
		}
		for _, machine := range childrenOf(f, set, owner, side) {
			if machine.Authoritative() == side {
				out[machine.Core()[side]] = owner.Metadata.UID
			}
		}
	}
	return out
}

// orphans reports whether a set's mirror is being deleted because the authoritative set is deleted with its place. Poundlock would detach the mirror's Machines
// first, but may have been deleted with that place, too.
func (l Leaving) orphans(set inventory.Pair) bool {
	mirror, in := mirrorOf(set)
	_, ok := set.Kind.Children()
	return ok && mirror != nil && mirror.Deleting() && mirror.HasFinalizer(authority.SyncFinalizer) && l.goes(set.Kind, set, in.Other())
}

// mirrorOf returns the pair's object in the API that is not authoritative (nil if there is none), and that API.
func mirrorOf(p inventory.Pair) (*policies.Object, authority.API) {
	in := authority.MachineAPI
	if p.Authoritative() != authority.ClusterAPI {
		in = authority.ClusterAPI
	}
	return p.Core()[in], in
}

// childrenOf returns the pairs whose object in the given API belongs to the owner.
func childrenOf(f *inventory.Fleet, set inventory.Pair, owner *policies.Object, in authority.API) []inventory.Pair {
	var out []inventory.Pair
	for _, p := range f.Pairs {
		if o := p.Core()[in]; o != nil && p.Kind.Parent == set.Kind.Name && ownedBy(o, owner.Metadata.UID) {
			out = append(out, p)
		}
	}
	return out
}

func ownedBy(o *policies.Object, owner types.UID) bool {
	return slices.ContainsFunc(o.Metadata.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == owner })
}

// takenBack returns the Machine API objects whose move to Cluster API cannot complete, because the Cluster API side is being deleted, each with its kind.
// Cluster API was never unpaused for these moves.
func (l Leaving) takenBack(f *inventory.Fleet) map[*policies.Object]authority.Kind {
	out := map[*policies.Object]authority.Kind{}
	for _, p := range f.Pairs {
		if l.takesBack(p) {
			out[p.MachineAPI] = p.Kind
		}
	}
	for _, set := range f.Sets {
		if l.takesSetBack(set) {
			out[set.Object] = authority.Kind{} // a set has no finalizer that moves with authority
		}
	}
	return out
}

// takesSetBack reports whether a set's move to Cluster API cannot complete, because Cluster API's namespace is being deleted, and Poundlock may be deleted with
// it. Nothing was paused for that move.
func (l Leaving) takesSetBack(set inventory.Set) bool {
	s := set.Shape()
	return s.Current == authority.Migrating && authority.Authoritative(s) == authority.MachineAPI && !set.Object.Deleting() &&
		l[Place{Kind: authority.Namespace, Name: set.Namespaces.ClusterAPI}]
}

func (l Leaving) takesBack(p inventory.Pair) bool {
	return p.Shape().Current == authority.Migrating && p.Authoritative() == authority.MachineAPI && !p.MachineAPI.Deleting() &&
		l.takes(p.Kind, p, authority.ClusterAPI)
}
