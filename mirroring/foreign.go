// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// inTheWay returns the object in the place of the mirror that Poundlock may not write to, with the remedy; "" for none.
func (s steps) inTheWay() string {
	if s.Source() == authority.MachineAPI {
		if why := s.foreign(s.Core); why != "" {
			return why
		}
	}
	if s.Kind.Infra != authority.InfraMachine {
		return "" // a template is named after its content
	}
	return s.foreign(s.Infra)
}

func (s steps) foreign(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	if s.IsMirror(o) {
		return s.unnamed(o)
	}
	free := "delete it, and with it what it runs" + s.afterUnpausing() +
		", or leave both as they are: each API then acts on its own object, and this one cannot migrate"
	begun := s.Kind.Name != "Machine" || slices.Contains(s.MachineAPI.GetFinalizers(), s.Kind.MachineAPIFinalizer)
	if !begun {
		free = "Machine API creates no second one (authority/created-twice): delete this Machine, or delete that one, and with it what it runs" + s.afterUnpausing()
	}
	foreign := authority.ForeignTo(s.Kind, pairs.ObjectOf(s.MachineAPI), pairs.ObjectOf(o))
	if s.Source() == authority.ClusterAPI && foreign != authority.NotForeign && foreign != authority.ForeignGoing { // it has no Machine yet
		return pairs.Describe(o) + ", which is not its mirror, belongs to no Machine and has the name of the one that the mirror needs: delete it"
	}
	switch foreign {
	case authority.ForeignGoing:
		return pairs.Describe(o) + ", which is not its mirror, is being deleted: the mirror is made when it is gone" + s.afterUnpausing()
	case authority.ForeignInstance:
		return fmt.Sprintf("%s, which is not its mirror, has an instance of its own, %s, that would be nobody's if it became the mirror: %s",
			pairs.Describe(o), pairs.Nested(o, "spec", "providerID"), free)
	case authority.ForeignActs:
		if o == s.Infra && s.Core == nil && len(authority.MachineOwners(pairs.ObjectOf(o))) == 0 {
			return fmt.Sprintf("%s, which is not its mirror, belongs to no Machine: delete it, or, to make it the mirror, and overwrite its spec, annotate it with %s",
				pairs.Describe(o), authority.PausedAnnotation)
		}
		if !begun && s.Core != nil && (s.Infra == nil || len(authority.MachineOwners(pairs.ObjectOf(s.Infra))) == 0) {
			return fmt.Sprintf("%s was created too, and is not paused. So that one instance is created and not two, neither API begins (authority/created-twice): delete one of the two Machines, "+
				"or annotate that of Cluster API and its infrastructure machine with %s to make them the mirror", pairs.Describe(o), authority.PausedAnnotation)
		}
		return fmt.Sprintf("%s, which is not its mirror, is not paused, so Cluster API acts on it: %s; to make it the mirror, and overwrite its spec, annotate it with %s",
			pairs.Describe(o), free, authority.PausedAnnotation)
	case authority.ForeignStopping:
		return pairs.Describe(o) + ", which is not its mirror, becomes the mirror as soon as its controllers acknowledge that it is paused (condition Paused)"
	case authority.ForeignBegun:
		return fmt.Sprintf("%s, which is not its mirror, may have an instance whose ID its controllers have not stored, and which would be nobody's if it became the mirror: "+
			"delete the Cluster API Machine, and with it what it runs%s", pairs.Describe(o), s.afterUnpausing())
	case authority.NotForeign:
	}
	return ""
}

// afterUnpausing is what a person has to do besides, where an object of Cluster API's that the mirror did not make is paused: its controllers end nothing while
// it is, and Poundlock lets a person take the pause off once the object is being deleted.
func (s steps) afterUnpausing() string {
	var commands []string
	for _, o := range []*unstructured.Unstructured{s.Core, s.Infra} {
		if o == nil || s.IsMirror(o) {
			continue
		}
		if _, paused := o.GetAnnotations()[authority.PausedAnnotation]; paused {
			kind, _, _ := strings.Cut(pairs.Describe(o), " ")
			commands = append(commands, fmt.Sprintf("kubectl -n %s annotate %s %s %s-", o.GetNamespace(), strings.ToLower(kind), o.GetName(),
				authority.PausedAnnotation))
		}
	}
	if len(commands) == 0 {
		return ""
	}
	return ", once it is no longer paused (after the deletion has begun: " + strings.Join(commands, "; ") + ")"
}

// unnamed: a mirror that names an instance which its Machine does not name, as after a restore. Written over, the instance would be nobody's.
func (s steps) unnamed(mirror *unstructured.Unstructured) string {
	id := pairs.Nested(mirror, "spec", "providerID")
	if s.Kind.Name != "Machine" || s.Source() != authority.MachineAPI || id == "" || pairs.Nested(s.MachineAPI, "spec", "providerID") != "" ||
		s.MachineAPI.GetDeletionTimestamp() != nil {
		return ""
	}
	return fmt.Sprintf("%s has the instance %s, and this Machine has no spec.providerID: set spec.providerID: %[2]s, or delete this Machine",
		pairs.Describe(mirror), id)
}
