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

// Verb is the kind of request with which a write is sent.
type Verb string

const (
	// Create creates an object, and fails if it exists. An apply would overwrite an object that somebody else has created in the meantime.
	Create Verb = "create"
	// Apply is a server-side apply that takes over fields that others own (force).
	Apply Verb = "apply"
	// Patch is a merge patch.
	Patch Verb = "patch"
	// PatchStatus is a merge patch of the status.
	PatchStatus Verb = "patchStatus"
	// Remove is a deletion.
	Remove Verb = "delete"
)

// Write is one request to the API server.
type Write struct {
	Verb Verb
	// Object is the object to create or to apply. For a patch or a deletion, it is the object as it was read.
	Object *unstructured.Unstructured
	// Patch is the JSON merge patch of a write with the verb Patch or PatchStatus.
	Patch map[string]any
	// By is the field manager of a patch; "" means the mirror's own.
	By string
	// Reason is the reason of the event. Note is its sentence; "" if the log is enough. Fields are the paths that change.
	Reason, Note string
	Fields       []string
	// Failure is set for a write that reports why the pair cannot be mirrored.
	Failure bool
	// Warning reports that the event is a warning.
	Warning bool
	// Provided is what must be true when the write is sent. It is checked right before that.
	Provided Proviso
}

// Proviso is a condition on the API server's objects that must be true right before a write is sent. The zero value has no condition. Writes with a proviso are
// sent one at a time.
type Proviso struct {
	// Stays is a set that must exist and must not be being deleted. The garbage collector deletes an object whose owner is gone, and with an authoritative Machine
	// its instance.
	Stays *unstructured.Unstructured
	// Gone is a set that must not exist. It is read from the API server, because the cache may not have the set yet.
	Gone *unstructured.Unstructured
	// Childless reports that no Machine may have joined the set since the Machines of the set were listed.
	Childless bool
	// Unchanged reports that the object to delete must be as it was read.
	Unchanged bool
}

// Equals reports whether two writes send the same request.
func (w *Write) Equals(other *Write) bool {
	return w.Verb == other.Verb && reflect.DeepEqual(w.Patch, other.Patch) && reflect.DeepEqual(w.Object.Object, other.Object.Object)
}

// Repeats reports whether w repeats the write that was just sent (last).
func (w *Write) Repeats(last *Write) bool {
	return w.Verb == last.Verb && w.Verb != Remove && Describe(w.Object) == Describe(last.Object) && w.Reason == last.Reason &&
		reflect.DeepEqual(w.Fields, last.Fields) && len(w.Fields) > 0
}

// Propagation returns the propagation policy of a deletion. The deletion of a MachineSet's mirror orphans its Machines. These follow their own twins, which may
// have stayed when the authoritative MachineSet was deleted (--cascade=orphan).
func (w *Write) Propagation() metav1.DeletionPropagation {
	if w.Object.GetKind() == "MachineSet" {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// First calls the candidates in order and returns the first write that is not nil, nil if there is none.
func First(candidates ...func() *Write) *Write {
	for _, c := range candidates {
		if w := c(); w != nil {
			return w
		}
	}
	return nil
}

// Put sets a text value at a path.
func Put(o *unstructured.Unstructured, value string, path ...string) {
	// The only possible error is a path through a value that is no map. The API server then refuses the object, and names the field.
	_ = unstructured.SetNestedField(o.Object, value, path...)
}

// Brief returns a list of paths for people, shortened so that it fits on a line.
func Brief(paths []string) string {
	const most = 5
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}

// Describe returns an object's kind, group, namespace and name for people.
func Describe(o *unstructured.Unstructured) string {
	group, _, _ := strings.Cut(o.GetAPIVersion(), "/")
	return fmt.Sprintf("%s.%s %s/%s", o.GetKind(), group, o.GetNamespace(), o.GetName())
}

// DescribeSource describes, for people, the object from which the pair is mirrored.
func (s *State) DescribeSource() string {
	if s.Authoritative() == authority.ClusterAPI && s.Core != nil || s.MachineAPI == nil {
		return Describe(s.Core)
	}
	return Describe(s.MachineAPI)
}

// MetadataPatch returns a merge patch of metadata.
func MetadataPatch(metadata map[string]any) map[string]any {
	return map[string]any{"metadata": metadata}
}
