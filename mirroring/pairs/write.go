// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// Verb is how a write is sent.
type Verb string

const (
	// Create makes an object, and fails if there is one: an apply would overwrite an object that somebody else has created meanwhile.
	Create Verb = "create"
	// Apply is a server-side apply that takes over fields that others own.
	Apply Verb = "apply"
	// Patch is a merge patch.
	Patch Verb = "patch"
	// PatchStatus is a merge patch of the status.
	PatchStatus Verb = "patchStatus"
	// Remove deletes.
	Remove Verb = "delete"
)

// Write is one request to the API server.
type Write struct {
	Verb Verb
	// Object is what is created or applied, or what is patched or deleted, as it was read.
	Object *unstructured.Unstructured
	// Patch is a JSON merge patch, of Patch and PatchStatus.
	Patch map[string]any
	// By is the field manager of a patch, "" the mirror's own.
	By string
	// Reason is the reason of the event. Note is its sentence, "" where the log is enough. Fields are the paths that change.
	Reason, Note string
	Fields       []string
	// Failure is set for a write that reports why the pair cannot be mirrored.
	Failure bool
	// Warning reports that the event is a warning.
	Warning bool
	// Provided is checked right before the write is sent.
	Provided Proviso
}

// Proviso is what must be true of the API server's objects right before a write is sent; the zero value: nothing. No two writes with a proviso are sent at a
// time.
type Proviso struct {
	// Stays is a set that must exist and not be being deleted. The garbage collector deletes an object whose owner is gone, and with an authoritative Machine
	// its instance.
	Stays *unstructured.Unstructured
	// Gone is a set that must not exist: the cache may not have it yet.
	Gone *unstructured.Unstructured
	// Childless reports that no Machine may have come to belong to the set since its Machines were listed.
	Childless bool
	// Unchanged reports that what is deleted must be as it was read.
	Unchanged bool
}

// Equals reports whether two writes send the same.
func (w *Write) Equals(other *Write) bool {
	return w.Verb == other.Verb && reflect.DeepEqual(w.Patch, other.Patch) && reflect.DeepEqual(w.Object.Object, other.Object.Object)
}

// Repeats reports whether w writes once more what last has just written.
func (w *Write) Repeats(last *Write) bool {
	return w.Verb == last.Verb && w.Verb != Remove && Describe(w.Object) == Describe(last.Object) && w.Reason == last.Reason &&
		reflect.DeepEqual(w.Fields, last.Fields) && len(w.Fields) > 0
}

// Propagation returns how a deletion goes on to what the object owns. The deletion of a MachineSet's mirror orphans its Machines. They follow their own
// twins, which the deletion of the authoritative MachineSet may have left alone (--cascade=orphan).
func (w *Write) Propagation() metav1.DeletionPropagation {
	if w.Object.GetKind() == "MachineSet" {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// First returns the first write that there is.
func First(candidates ...func() *Write) *Write {
	for _, c := range candidates {
		if w := c(); w != nil {
			return w
		}
	}
	return nil
}

// Put sets the text at a path.
func Put(o *unstructured.Unstructured, value string, path ...string) {
	// The only error is a path through something that is no map; then the API server refuses the object, by name.
	_ = unstructured.SetNestedField(o.Object, value, path...)
}

// Brief lists paths for people: as few as fit a line.
func Brief(paths []string) string {
	const most = 5
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}

// Describe names an object for people.
func Describe(o *unstructured.Unstructured) string {
	group, _, _ := strings.Cut(o.GetAPIVersion(), "/")
	return fmt.Sprintf("%s.%s %s/%s", o.GetKind(), group, o.GetNamespace(), o.GetName())
}

// DescribeSource names the object from which the pair is mirrored, for people.
func (s *State) DescribeSource() string {
	if s.Authoritative() == authority.ClusterAPI && s.Core != nil || s.MachineAPI == nil {
		return Describe(s.Core)
	}
	return Describe(s.MachineAPI)
}

// MetadataPatch is a merge patch of metadata.
func MetadataPatch(metadata map[string]any) map[string]any {
	return map[string]any{"metadata": metadata}
}
