// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// verb is how a write is sent.
type verb string

const (
	// create makes an object, or is refused if there is one: an apply would land on what somebody else has made meanwhile.
	create      verb = "create"
	apply       verb = "apply"
	patch       verb = "patch"
	patchStatus verb = "patchStatus"
	remove      verb = "delete"
)

// write is one request to the API server.
type write struct {
	verb verb
	// object is what is created or applied, or what is patched or deleted, as it was read.
	object *unstructured.Unstructured
	// patch is a JSON merge patch, of patch and patchStatus.
	patch map[string]any
	// by is the field manager of a patch, "" the mirror's own.
	by string
	// reason is the event's, in a word; note is a sentence, "" where a person gains nothing from it and the log is enough;
	// fields are the paths that change.
	reason, note string
	fields       []string
	// failure is set for a write that reports why the pair cannot be mirrored.
	failure bool
	// warning reports that the event is a warning.
	warning bool
	// provided must be true when the write is sent.
	provided proviso
}

// proviso is what the API server is asked right before a write, the zero value: nothing. No two such writes are sent at a time.
type proviso struct {
	// stays is a set that must exist and not be deleted: the collector deletes what names an owner that is gone, and with an authoritative Machine its instance.
	stays *unstructured.Unstructured
	// childless reports that no Machine may have come to belong to the set since its Machines were listed.
	childless bool
}

// equals reports whether two writes send the same.
func (w *write) equals(other *write) bool {
	return w.verb == other.verb && reflect.DeepEqual(w.patch, other.patch) && reflect.DeepEqual(w.object.Object, other.object.Object)
}

// repeats reports whether w wants what was just written.
func (w *write) repeats(last *write) bool {
	return w.verb == last.verb && w.verb != remove && describe(w.object) == describe(last.object) && w.reason == last.reason &&
		reflect.DeepEqual(w.fields, last.fields) && len(w.fields) > 0
}

// propagation of a MachineSet's mirror orphans: its Machines follow their own twins, which the deletion of the
// MachineSet authoritative may well have left alone (--cascade=orphan).
func (w *write) propagation() metav1.DeletionPropagation {
	if w.object.GetKind() == "MachineSet" {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// first returns the first write that there is.
func first(candidates ...func() *write) *write {
	for _, c := range candidates {
		if w := c(); w != nil {
			return w
		}
	}
	return nil
}

func put(o *unstructured.Unstructured, value string, path ...string) {
	// The only error is a path through something that is no map; then the API server refuses the object, by name.
	_ = unstructured.SetNestedField(o.Object, value, path...)
}

// brief lists paths for people: as few as fit a line.
func brief(paths []string) string {
	const most = 5
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}

func describe(o *unstructured.Unstructured) string {
	group, _, _ := strings.Cut(o.GetAPIVersion(), "/")
	return fmt.Sprintf("%s.%s %s/%s", o.GetKind(), group, o.GetNamespace(), o.GetName())
}

func (s *state) describeSource() string {
	if s.inCharge() == authority.ClusterAPI && s.core != nil || s.machineAPI == nil {
		return describe(s.core)
	}
	return describe(s.machineAPI)
}

func metadataPatch(metadata map[string]any) map[string]any {
	return map[string]any{"metadata": metadata}
}
