// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// gatherSurroundings reads from the API server whether a part of the pair is deleted, or is missing, because what it lives in is being deleted. Such a
// deletion is nobody's request (DESIGN §3.3). A pair that is complete is not asked about.
func (r *reconciler) gatherSurroundings(ctx context.Context, s *pairs.State) error {
	if s.Complete() {
		return nil
	}
	for _, part := range livesIn(s) {
		why, _, err := part.Leaving(ctx, r.live)
		if err != nil {
			return err
		}
		if why == "" {
			continue
		}
		s.Surroundings = authority.Go
		if s.Missing == "" {
			s.Reason = pairs.ReasonSurroundings
			s.Missing = why + pairs.Recreates
		}
		return nil
	}
	return nil
}

// gatherGate reads the feature gate where a mirror of the Machine API is being deleted: while the gate is off, that API's controllers delete what belongs to a set of Cluster API's.
func (r *reconciler) gatherGate(ctx context.Context, s *pairs.State) (err error) {
	if mirror, side := s.Mirror(); side == authority.MachineAPI && pairs.PresenceOf(mirror) == authority.Deleting {
		s.Gate, err = r.gate(ctx)
	}
	return err
}

// livesIn lists a pair's surroundings.
func livesIn(s *pairs.State) []facts.Surrounding {
	out := []facts.Surrounding{{GVK: facts.NamespaceKind, Name: s.Pair.MachineAPI}, {GVK: facts.NamespaceKind, Name: s.Pair.ClusterAPI}}
	for _, name := range append(s.Kind.Definitions(), infraDefinitions(s)...) {
		out = append(out, facts.Surrounding{GVK: facts.DefinitionKind, Name: name})
	}
	if s.Env.ClusterName != "" {
		out = append(out, facts.Surrounding{GVK: facts.ClusterKind, Namespace: s.Pair.ClusterAPI, Name: s.Env.ClusterName})
	}
	for _, o := range []*unstructured.Unstructured{s.Core, s.Parents[authority.ClusterAPI]} {
		if o == nil {
			continue
		}
		for _, ref := range o.GetOwnerReferences() {
			if group, _, _ := strings.Cut(ref.APIVersion, "/"); group == facts.ClusterKind.Group && ref.Kind == facts.ClusterKind.Kind {
				out = append(out, facts.Surrounding{GVK: facts.ClusterKind, Namespace: s.Pair.ClusterAPI, Name: ref.Name, UID: ref.UID})
			}
		}
	}
	return append(out, ownersDefinition(s)...)
}

// ownersDefinition is the CRD of the owner of a mirror that is being deleted, where that owner does not exist any more. If the CRD is younger
// than the mirror, the owner was deleted with an earlier one of its name, and so was the mirror: by the collector, and after nobody's request.
func ownersDefinition(s *pairs.State) []facts.Surrounding {
	mirror, side := s.Mirror()
	owner, ok := authority.KindNamed(s.Kind.Parent)
	if ref := pairs.ControllerOf(mirror); !ok || pairs.PresenceOf(mirror) != authority.Deleting || ref == nil || ref.Kind != owner.Name ||
		pairs.PresenceOf(s.Parents[side]) != authority.Absent && s.Parents[side].GetUID() == ref.UID {
		return nil
	}
	group := owner.MachineAPI.Group
	if side == authority.ClusterAPI {
		group = owner.ClusterAPI.Group
	}
	return []facts.Surrounding{{GVK: facts.DefinitionKind, Name: owner.Resource + "." + group, Since: mirror.GetCreationTimestamp()}}
}

func infraDefinitions(s *pairs.State) []string {
	switch {
	case s.Env.Platform.Name == "":
		return nil
	case s.Kind.Infra == authority.InfraMachine:
		return []string{s.Env.Platform.InfraMachine.Definition()}
	case s.Kind.Infra == authority.InfraMachineTemplate:
		return []string{s.Env.Platform.InfraMachineTemplate.Definition()}
	}
	return nil
}
