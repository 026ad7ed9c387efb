// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// LivesIn returns a pair's surroundings: its namespaces, CRDs and Clusters. If one of them is deleted, a part of the pair is deleted with it, without a user's
// request (DESIGN §3.3).
func LivesIn(s *pairs.State) []authority.Surrounding {
	out := []authority.Surrounding{{Kind: authority.Namespace, Name: s.Pair.MachineAPI}, {Kind: authority.Namespace, Name: s.Pair.ClusterAPI}}
	for _, name := range append(s.Kind.Definitions(), infraDefinitions(s)...) {
		out = append(out, authority.Surrounding{Kind: authority.Definition, Name: name})
	}
	if s.Env.ClusterName != "" {
		out = append(out, authority.Surrounding{Kind: authority.Cluster, Namespace: s.Pair.ClusterAPI, Name: s.Env.ClusterName})
	}
	for _, o := range []*unstructured.Unstructured{s.Core, s.Parents[authority.ClusterAPI]} {
		if o == nil {
			continue
		}
		for _, ref := range o.GetOwnerReferences() {
			if group, _, _ := strings.Cut(ref.APIVersion, "/"); group == clusterv1.GroupVersion.Group && ref.Kind == authority.Cluster {
				out = append(out, authority.Surrounding{Kind: authority.Cluster, Namespace: s.Pair.ClusterAPI, Name: ref.Name, UID: ref.UID})
			}
		}
	}
	return append(append(out, ownersDefinition(s)...), deploymentsDefinition(s)...)
}

// deploymentsDefinition returns the CRD of MachineDeployments if a MachineDeployment made the MachineSet that is being deleted, or the one whose Machine is. If
// the CRD is being deleted, Cluster API deletes these MachineSets with their Machines, without a user's request.
func deploymentsDefinition(s *pairs.State) []authority.Surrounding {
	if pairs.PresenceOf(s.Core) != authority.Deleting {
		return nil
	}
	set := s.Core
	if s.Kind.Name == "Machine" {
		_, made := s.Core.GetLabels()[clusterv1.MachineDeploymentNameLabel]
		if set = s.Parents[authority.ClusterAPI]; !made || pairs.PresenceOf(set) == authority.Present {
			return nil
		}
	}
	if ref := pairs.ControllerOf(set); set != nil && (ref == nil || ref.Kind != authority.MachineDeployment) {
		return nil
	}
	return []authority.Surrounding{{Kind: authority.Definition, Name: authority.DeploymentsDefinition, Since: s.Core.GetCreationTimestamp()}}
}

// ownersDefinition returns the CRD of the owner of a mirror that is being deleted, if that owner does not exist any more. If the CRD is newer than the mirror,
// the owner was deleted with an earlier CRD of that name. The garbage collector then deleted the mirror after its owner, without a user's request.
func ownersDefinition(s *pairs.State) []authority.Surrounding {
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
	return []authority.Surrounding{{Kind: authority.Definition, Name: owner.Resource + "." + group, Since: mirror.GetCreationTimestamp()}}
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
