// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// reasonOutlived is the reason of the condition on a Cluster API MachineSet that has no mirror any more.
const reasonOutlived = "MachineSetDeleted"

// Outlived returns the write of a report on a Cluster API MachineSet: the Machine API's MachineSet was deleted, and this one continues. It returns nil if this
// is reported already, or if there is nothing to report. The user who deleted the Machine API's MachineSet may have expected its instances to be terminated, as
// before Poundlock, and a fleet manager does not read the warnings of an API server.
func (r Reporter) Outlived(s *pairs.State) *pairs.Write {
	if !s.Kind.Scales || s.MachineAPI != nil || pairs.PresenceOf(s.Core) != authority.Present || !s.IsMirror(s.Core) || pairs.IsPaused(s.Core) {
		return nil
	}
	note := fmt.Sprintf(
		"The Machine API's MachineSet %[1]s/%[2]s was deleted. This Cluster API MachineSet, which was authoritative, keeps its Machines and their "+
			"instances running. To delete the Machines, delete this MachineSet: %[3]s. To have the MachineSet in the Machine API again, recreate it with "+
			"spec.authoritativeAPI: ClusterAPI: kubectl poundlock convert machineset/%[2]s | kubectl apply -f -", s.Pair.MachineAPI, s.Name,
		fmt.Sprintf("kubectl -n %s delete machinesets.cluster.x-k8s.io %s", s.Pair.ClusterAPI, s.Name))
	merged, changed := conditionlist.Set(conditionlist.Of(s.Core), conditionlist.New(authority.ConditionMirrored, metav1.ConditionFalse,
		reasonOutlived, note), r.Now)
	if !changed {
		return nil
	}
	w := statusWrite(s.Core, map[string]any{"conditions": merged})
	w.Reason, w.Note, w.Warning = reasonOutlived, note, true
	return w
}

// Found returns the write that removes the condition of Outlived once the MachineSet has a twin again.
func Found(s *pairs.State) *pairs.Write {
	if s.Core == nil {
		return nil
	}
	conditions := conditionlist.Of(s.Core)
	if conditionlist.Find(conditions, authority.ConditionMirrored) == nil {
		return nil
	}
	return statusWrite(s.Core, map[string]any{"conditions": conditionlist.Without(conditions, authority.ConditionMirrored)})
}
