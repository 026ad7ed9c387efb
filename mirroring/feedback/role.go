// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package feedback

import (
	"github.com/poundlock/poundlock/internal/machineapi"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// Role returns the write that restores the role labels of a Machine API Machine, if Cluster API's Machine has these labels. It is for a Machine that is being
// deleted while Cluster API is authoritative. Etcd's operator finds a Machine by these labels, and keeps its hook on a Machine that it does not find. Nothing
// else is mirrored to an object that is being deleted.
func Role(s *pairs.State) *pairs.Write {
	if !s.Kind.InfraActs() || s.Source() != authority.ClusterAPI || pairs.PresenceOf(s.MachineAPI) != authority.Deleting || s.Core == nil {
		return nil
	}
	labels := map[string]any{}
	for _, name := range []string{machineapi.RoleLabel, machineapi.TypeLabel} {
		_, here := s.MachineAPI.GetLabels()[name]
		if value, there := s.Core.GetLabels()[name]; there && !here {
			labels[name] = value
		}
	}
	if len(labels) == 0 {
		return nil
	}
	return &pairs.Write{Verb: pairs.Patch, Object: s.MachineAPI, Patch: pairs.MetadataPatch(map[string]any{"labels": labels}), Reason: "MirrorUpdated",
		Note: "restored the role labels of " + pairs.Describe(s.MachineAPI) + ", which is being deleted, so that etcd's operator finds it"}
}
