// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package twin

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/internal/managedfields"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// Selects reports whether a MachineSet selects its Machines by this label. If so, the mirrors of its Machines need the label, or the mirror of the set would
// not select them.
func Selects(set map[string]any, label string) bool {
	selector := pairs.Below(pairs.Below(set, "spec"), "selector")
	_, named := pairs.Below(selector, "matchLabels")[label]
	return named || slices.ContainsFunc(pairs.List(selector["matchExpressions"]), func(e any) bool { return ownership.Has(e, map[string]any{"key": label}) })
}

// selects reports whether a MachineSet of this Machine, in either API, selects the Machine by a label.
func (s Twin) selects(label string) bool {
	for _, set := range s.Parents {
		if Selects(content(set), label) {
			return true
		}
	}
	return false
}

// LeaveOut removes from a converted object the labels and annotations that the mirror does not copy, and returns their names. By these labels and annotations,
// somebody else recognizes the object that has them (authority.Theirs). selects reports whether a MachineSet selects the object by a label. Such a label stays.
func LeaveOut(kind authority.Kind, o *unstructured.Unstructured, selects func(label string) bool) []string {
	var out []string
	leave := func(names map[string]string, stays func(string) bool, set func(map[string]string)) {
		before := len(out)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if stays(name) {
				out = append(out, name)
				delete(names, name)
			}
		}
		switch {
		case len(names) == 0:
			set(nil)
		case len(out) > before:
			set(names)
		}
	}
	leave(o.GetLabels(), func(k string) bool { return (authority.Theirs(k) || bookkeeping(kind, k)) && !selects(k) }, o.SetLabels)
	leave(o.GetAnnotations(), authority.Theirs, o.SetAnnotations)
	return out
}

// bookkeeping reports whether Cluster API's MachineSet controller marks the Machines of a set by this label. The mirror does not copy the label. On a Machine
// API object the label would stay during a move and back, and in Cluster API that controller writes it itself.
func bookkeeping(kind authority.Kind, label string) bool {
	return label == clusterv1.MachineSetNameLabel && kind.Parent != ""
}

func content(o *unstructured.Unstructured) map[string]any {
	if o == nil {
		return nil
	}
	return o.Object
}

// leave keeps on the Machine API mirror the labels and annotations that others write to it whichever API is authoritative (authority.LeftAlone). On a set they
// say how large its machines are. On a Machine they say its zone and the state of its instance. Cluster API's copy of them is older, and is used only if the
// mirror has none. leave also keeps the labels and annotations by which somebody else recognizes an object (authority.Theirs), if the mirror owned them before,
// because there may be no other copy.
func (s Twin) leave(want *unstructured.Unstructured) {
	for _, of := range []string{"labels", "annotations"} {
		others, owned := authority.LeftAlone(s.Kind.Name, "metadata."+of), ownership.OwnedBelow(s.MachineAPI, managedfields.Path("metadata", of))
		for name, value := range pairs.Below(pairs.Below(content(s.MachineAPI), "metadata"), of) {
			if slices.Contains(others, name) || authority.Theirs(name) && owned.Has(name) {
				text, _ := value.(string)
				pairs.Put(want, text, "metadata", of, name)
			}
		}
	}
}
