// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/policies/authority"
)

// The reasons why a pair waits for a kind that the API server does not serve.
const (
	reasonNoClusterAPI = "ClusterAPINotInstalled"
	reasonNoMachineAPI = "MachineAPINotInstalled"
	reasonNoProvider   = "ProviderNotInstalled"
)

// Lacks notes the first kind of a pair that is not served. Without the Infrastructure's kind, the Infrastructure is missing: the conversion reports it.
func (s *State) Lacks(kind schema.GroupVersionKind) {
	if s.unserved.Empty() && kind != InfrastructureKind {
		s.unserved = kind
	}
}

// waitsForKind reports whether nothing may be done to the pair before a kind is served: that objects are gone with their kind is nobody's word about a Machine.
// An object of the Machine API that Machine API itself runs may still be deleted.
func (s *State) waitsForKind() bool {
	return !s.unserved.Empty() && (PresenceOf(s.MachineAPI) != authority.Deleting || s.source() != authority.MachineAPI)
}

// releaseUnserved lets a mirror go that is being deleted, and propagates nothing: its CRD may be waiting for it, or its owner has gone with a CRD. A Machine API
// object stays while authority moves, while Cluster API is yet to be released, and where what is not served has nothing to do with its deletion.
func (s *State) releaseUnserved() *Write {
	mirror, side := s.Mirror()
	switch {
	case s.source() == authority.Unset || PresenceOf(mirror) != authority.Deleting:
		return nil
	case side == authority.ClusterAPI && !s.IsMirror(s.Core):
		return nil
	case side == authority.MachineAPI && (s.unserved.Group != s.Kind.MachineAPI.Group || s.said().Current == authority.Migrating || s.Deletion().Unreleased):
		return nil
	case len(s.Children) > 0:
		return s.detach(s.Children[0], side)
	}
	return s.releaseMirror(side)
}

// waits reports on the Machine API object which kind it waits for; nil if it is reported already.
func (c converting) waits(s *State) *Write {
	if s.MachineAPI == nil || s.source() == authority.Unset {
		return nil
	}
	reason, what := reasonNoProvider, "the platform's provider of Cluster API"
	switch s.unserved.Group {
	case s.Kind.ClusterAPI.Group:
		reason, what = reasonNoClusterAPI, "Cluster API"
	case s.Kind.MachineAPI.Group:
		reason, what = reasonNoMachineAPI, "the Machine API"
	}
	return c.withCondition(s, metav1.ConditionUnknown, reason, fmt.Sprintf("The API server does not serve %s of %s. Poundlock mirrors this %s when %s is installed.",
		s.unserved.Kind, s.unserved.GroupVersion(), s.Kind.Name, what))
}

// withCondition writes the condition Synchronized to the Machine API object; nil if it is there already.
func (c converting) withCondition(s *State, status metav1.ConditionStatus, reason, message string) *Write {
	merged, changed := conditionlist.Set(conditionlist.Of(s.MachineAPI), synchronizedCondition(status, reason, message), c.now)
	if !changed {
		return nil
	}
	w := statusWrite(s.MachineAPI, map[string]any{"conditions": merged})
	w.Reason, w.Note = reason, message
	return w
}
