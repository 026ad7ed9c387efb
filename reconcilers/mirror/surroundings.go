// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/facts"
	"github.com/poundlock/poundlock/policies/authority"
)

// gatherSurroundings reads from the API server whether a part of the pair is deleted, or is missing, because what it lives in is being deleted. Such a
// deletion is nobody's request (DESIGN §3.3). A pair that is complete is not asked about.
func (r *reconciler) gatherSurroundings(ctx context.Context, s *state) error {
	if s.complete() {
		return nil
	}
	for _, part := range s.livesIn() {
		why, _, err := part.Leaving(ctx, r.live)
		if err != nil {
			return err
		}
		if why == "" {
			continue
		}
		s.surroundings = authority.Go
		if s.missing == "" {
			s.reason = reasonSurroundings
			s.missing = why + recreates
		}
		return nil
	}
	return nil
}

// complete reports whether all objects of the pair exist and none of them is being deleted.
func (s *state) complete() bool {
	return presence(s.machineAPI) == authority.Present && presence(s.core) == authority.Present &&
		(s.kind.Infra == "" || presence(s.infra) == authority.Present)
}

// livesIn lists a pair's surroundings.
func (s *state) livesIn() []facts.Surrounding {
	out := []facts.Surrounding{{GVK: facts.NamespaceKind, Name: s.pair.MachineAPI}, {GVK: facts.NamespaceKind, Name: s.pair.ClusterAPI}}
	for _, name := range append(s.kind.Definitions(), s.infraDefinitions()...) {
		out = append(out, facts.Surrounding{GVK: facts.DefinitionKind, Name: name})
	}
	if s.env.ClusterName != "" {
		out = append(out, facts.Surrounding{GVK: facts.ClusterKind, Namespace: s.pair.ClusterAPI, Name: s.env.ClusterName})
	}
	for _, o := range []*unstructured.Unstructured{s.core, s.parents[authority.ClusterAPI]} {
		if o == nil {
			continue
		}
		for _, ref := range o.GetOwnerReferences() {
			if group, _, _ := strings.Cut(ref.APIVersion, "/"); group == facts.ClusterKind.Group && ref.Kind == facts.ClusterKind.Kind {
				out = append(out, facts.Surrounding{GVK: facts.ClusterKind, Namespace: s.pair.ClusterAPI, Name: ref.Name, UID: ref.UID})
			}
		}
	}
	return append(out, s.ownersDefinition()...)
}

// ownersDefinition is the CRD of the owner of a mirror that is being deleted, where that owner does not exist any more. If the CRD is younger than the mirror, the
// owner was deleted with an earlier one of its name, and so was the mirror: by the collector, and after nobody's request.
func (s *state) ownersDefinition() []facts.Surrounding {
	mirror, side := s.mirror()
	owner, ok := authority.KindNamed(s.kind.Parent)
	if ref := controllerOf(mirror); !ok || presence(mirror) != authority.Deleting || ref == nil || ref.Kind != owner.Name || presence(s.parents[side]) != authority.Absent && s.parents[side].GetUID() == ref.UID {
		return nil
	}
	group := owner.MachineAPI.Group
	if side == authority.ClusterAPI {
		group = owner.ClusterAPI.Group
	}
	return []facts.Surrounding{{GVK: facts.DefinitionKind, Name: owner.Resource + "." + group, Since: mirror.GetCreationTimestamp()}}
}

func (s *state) infraDefinitions() []string {
	switch {
	case s.env.Platform.Name == "":
		return nil
	case s.kind.Infra == authority.InfraMachine:
		return []string{s.env.Platform.InfraMachine.Definition()}
	case s.kind.Infra == authority.InfraMachineTemplate:
		return []string{s.env.Platform.InfraMachineTemplate.Definition()}
	}
	return nil
}
