// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/poundlock/poundlock/internal/jsonmembers"
)

// Object is an object under review, decoded only as far as all rules need it: the metadata, with spec and status left as JSON. A rule that needs more decodes
// Spec or Status itself. Most requests never need that.
type Object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        Metadata        `json:"metadata"`
	Spec            json.RawMessage `json:"spec,omitempty"`
	Status          json.RawMessage `json:"status,omitempty"`

	raw     []byte
	reading atomic.Value // of type kept
}

// kept wraps the value that Reading stores in an Object. The wrapper is needed because atomic.Value accepts only values of one type.
type kept struct{ value any }

// Metadata has those fields of metav1.ObjectMeta that rules read. The managed fields, which are most of an object's bytes, are not among them.
type Metadata struct {
	Name              string                  `json:"name,omitempty"`
	GenerateName      string                  `json:"generateName,omitempty"`
	Namespace         string                  `json:"namespace,omitempty"`
	UID               types.UID               `json:"uid,omitempty"`
	ResourceVersion   string                  `json:"resourceVersion,omitempty"`
	Generation        int64                   `json:"generation,omitempty"`
	CreationTimestamp metav1.Time             `json:"creationTimestamp,omitzero"`
	DeletionTimestamp *metav1.Time            `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string       `json:"labels,omitempty"`
	Annotations       map[string]string       `json:"annotations,omitempty"`
	Finalizers        []string                `json:"finalizers,omitempty"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

// ParseObject reads an object from JSON. For empty input it returns nil and no error, because the review of a CREATE or a DELETE has only one of the two
// objects. The returned object keeps raw and points into it. Only what rules read is decoded, because most of an object's bytes are managed fields.
func ParseObject(raw []byte) (*Object, error) { return parse(raw, jsonmembers.Each) }

// ParseCheckedObject is ParseObject for JSON that is part of a document already found to be valid. It does not check the syntax again.
func ParseCheckedObject(raw []byte) (*Object, error) { return parse(raw, jsonmembers.EachChecked) }

func parse(raw []byte, each func([]byte, func(name, value []byte) error) error) (*Object, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	o := &Object{raw: raw}
	if err := each(raw, o.member); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return o, nil
}

func (o *Object) member(name, value []byte) error {
	switch string(name) {
	case "apiVersion":
		return decodeMember(name, value, &o.APIVersion)
	case "kind":
		return decodeMember(name, value, &o.Kind)
	case "metadata":
		if string(value) == "null" {
			return nil
		}
		return jsonmembers.EachChecked(value, o.Metadata.member)
	case "spec":
		o.Spec = value
	case "status":
		o.Status = value
	}
	return nil
}

func (m *Metadata) member(name, value []byte) error {
	if field := m.field(string(name)); field != nil {
		return decodeMember(name, value, field)
	}
	return nil
}

// field returns a pointer to the struct field for a member of metadata. It returns nil for a member that no rule reads.
func (m *Metadata) field(name string) any {
	switch name {
	case "name":
		return &m.Name
	case "generateName":
		return &m.GenerateName
	case "namespace":
		return &m.Namespace
	case "uid":
		return &m.UID
	case "resourceVersion":
		return &m.ResourceVersion
	case "generation":
		return &m.Generation
	case "creationTimestamp":
		return &m.CreationTimestamp
	case "deletionTimestamp":
		return &m.DeletionTimestamp
	case "labels":
		return &m.Labels
	case "annotations":
		return &m.Annotations
	case "finalizers":
		return &m.Finalizers
	case "ownerReferences":
		return &m.OwnerReferences
	}
	return nil
}

func decodeMember(name, value []byte, into any) error {
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Raw returns the JSON from which the object was read.
func (o *Object) Raw() []byte { return o.raw }

// Reading returns the value that the function read makes of the object, and keeps the value in the object. So rules that read an object in the same way decode
// it only once. The value is shared, so no caller may change it. An object keeps only one value, the last one made, and Reading reuses that value if it has the
// type T.
func Reading[T any](o *Object, read func(*Object) T) T {
	if k, ok := o.reading.Load().(kept); ok {
		if value, ok := k.value.(T); ok {
			return value
		}
	}
	made := read(o)
	o.reading.Store(kept{made})
	return made
}

// Deleting reports whether the object is being deleted: it has a deletionTimestamp, and waits until its finalizers are removed.
func (o *Object) Deleting() bool { return o != nil && o.Metadata.DeletionTimestamp != nil }

// HasFinalizer reports whether the object carries the finalizer.
func (o *Object) HasFinalizer(name string) bool {
	return o != nil && slices.Contains(o.Metadata.Finalizers, name)
}

// HasAnnotation reports whether the object carries the annotation, with any value.
func (o *Object) HasAnnotation(name string) bool {
	if o == nil {
		return false
	}
	_, ok := o.Metadata.Annotations[name]
	return ok
}
