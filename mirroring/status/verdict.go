// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// verdicts are the conditions by which Cluster API's check has the owner of a Machine delete it.
var verdicts = []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition,
	clusterv1.MachineExternallyRemediatedCondition}

// Unjudged takes back what Cluster API's check found of a Machine before it moved to the Machine API; nil: there is nothing. The check skips a paused Machine, so
// nobody else corrects that when the Node recovers. But a MachineSet of Cluster API's deletes a paused Machine too, by that finding, as soon as the set acts again.
func Unjudged(s *pairs.State) *pairs.Write {
	if s.Kind.Name != "Machine" || s.Source() != authority.MachineAPI || !s.IsMirror(s.Core) || !pairs.IsPaused(s.Core) {
		return nil
	}
	out := map[string]any{}
	for _, at := range [][]string{nil, {"deprecated", "v1beta1"}} {
		list := pairs.List(pairs.Under(pairs.Below(s.Core.Object, "status"), at...)["conditions"])
		if kept := withoutVerdicts(list); len(kept) < len(list) {
			_ = unstructured.SetNestedSlice(out, kept, append(slices.Clone(at), "conditions")...) // fails only where something else than an object is on the way
		}
	}
	return statusWrite(s.Core, out)
}

func withoutVerdicts(list []any) []any {
	for _, v := range verdicts {
		list = conditionlist.Without(list, v)
	}
	return list
}
