// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// propagators are the field managers under which a MachineSet of Cluster API applies to its Machines, and to their infrastructure machines.
var propagators = []string{"capi-machineset", "capi-machineset-metadata"}

// concede takes out of what is wanted the labels, annotations and fields for which a MachineSet of Cluster API's, authoritative, has a value of its own: it
// writes them onto its Machines in place, paused ones too (authority/propagation), and each would undo the other's write for ever. keep are the paths
// of spec that are left to it even if nothing is wanted there. When the set is no longer authoritative nothing is conceded, and the mirror takes all back.
func (s *State) concede(want, live *unstructured.Unstructured) (conceded *unstructured.Unstructured, keep []string) {
	if !s.propagated() {
		return want, nil
	}
	want = want.DeepCopy()
	for _, path := range propagatedPaths(live) {
		if says, has := valueAt(want, path), valueAt(live, path); says != nil && has != nil && !ownership.Has(has, says) {
			unstructured.RemoveNestedField(want.Object, path...)
		}
	}
	return want, authority.PropagatedFields()
}

// propagated reports whether a MachineSet of Cluster API's owns the Machine and acts: it is authoritative, or the Machine API's set is gone.
func (s *State) propagated() bool {
	twin := s.Parents[authority.MachineAPI]
	return s.belongsTo(s.Parents[authority.ClusterAPI]) && (twin == nil || authority.InCharge(ShapeOf(twin)) == authority.ClusterAPI)
}

// propagatedPaths are the fields of a Machine that a MachineSet has propagated: labels, annotations, and some of spec.
func propagatedPaths(live *unstructured.Unstructured) [][]string {
	var out [][]string
	for _, e := range live.GetManagedFields() {
		if !slices.Contains(propagators, e.Manager) || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != "" {
			continue
		}
		for _, names := range []string{"labels", "annotations"} {
			for _, name := range ownership.Names(e, "f:metadata", "f:"+names) {
				out = append(out, []string{"metadata", names, name})
			}
		}
		for _, field := range authority.PropagatedFields() {
			if path := strings.Split(field, "."); ownership.Holds(e, spelled(path)...) {
				out = append(out, path)
			}
		}
	}
	return out
}

// spelled is a path of fields as managed fields spell it.
func spelled(path []string) []string {
	out := make([]string, len(path))
	for i, step := range path {
		out[i] = "f:" + step
	}
	return out
}

func valueAt(o *unstructured.Unstructured, path []string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return value
}
