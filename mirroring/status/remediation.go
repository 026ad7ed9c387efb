// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// remediationConditions are the conditions with which Cluster API's MachineHealthCheck has the owner of a Machine delete the Machine.
var remediationConditions = []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition,
	clusterv1.MachineExternallyRemediatedCondition}

// Unjudged returns the write that removes from a Machine the conditions that Cluster API's MachineHealthCheck set before the Machine moved to the Machine API;
// nil if there are none. The check skips a paused Machine, so nobody else corrects these conditions when the Node recovers. But because of them, a Cluster API
// MachineSet deletes even a paused Machine as soon as the set acts again.
//
// Unjudged also removes these conditions from a Machine for which Cluster API is authoritative, once its check is gone or no longer acts (Unchecked).
func Unjudged(s *pairs.State) *pairs.Write {
	if s.Kind.Name != "Machine" || !s.IsMirror(s.Core) || !s.Unchecked && (s.Source() != authority.MachineAPI || !pairs.IsPaused(s.Core)) {
		return nil
	}
	out := map[string]any{}
	for _, at := range [][]string{nil, {"deprecated", "v1beta1"}} {
		list := pairs.List(pairs.Under(pairs.Below(s.Core.Object, "status"), at...)["conditions"])
		if kept := withoutRemediation(list); len(kept) < len(list) {
			_ = unstructured.SetNestedSlice(out, kept, append(slices.Clone(at), "conditions")...) // fails only where something else than an object is on the way
		}
	}
	return statusWrite(s.Core, out)
}

// Judged reports whether Cluster API's MachineHealthCheck has marked a Machine for deletion, while the Machine's Cluster API MachineSet is a paused mirror.
// That MachineSet would delete the Machine as soon as Cluster API is authoritative for the set, and only a check that acts removes the mark.
func Judged(s *pairs.State) bool {
	set := s.Parents[authority.ClusterAPI]
	return s.Kind.Name == "Machine" && s.Source() == authority.ClusterAPI && s.IsMirror(s.Core) && s.Core.GetDeletionTimestamp() == nil &&
		s.Parents[authority.MachineAPI] != nil && set != nil && pairs.IsPaused(set) && Marked(s.Core)
}

// Marked reports whether Cluster API's MachineHealthCheck asks the MachineSet of a Machine to delete the Machine.
func Marked(machine *unstructured.Unstructured) bool {
	list := pairs.List(pairs.Below(machine.Object, "status")["conditions"])
	is := func(kind string) bool {
		return conditionlist.Text(conditionlist.Find(list, kind), "status") == string(metav1.ConditionFalse)
	}
	return is(clusterv1.MachineHealthCheckSucceededCondition) && is(clusterv1.MachineOwnerRemediatedCondition)
}

// Checks calls authority.Checks for objects in unstructured form.
func Checks(check, machine *unstructured.Unstructured) bool {
	return authority.Checks(pairs.ObjectOf(check), pairs.ObjectOf(machine))
}

func withoutRemediation(list []any) []any {
	for _, v := range remediationConditions {
		list = conditionlist.Without(list, v)
	}
	return list
}
