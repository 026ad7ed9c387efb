// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object is an object of a review as far as every rule reads it: its metadata, and spec and status as they came.
// A rule that looks further decodes Spec or Status itself; most requests never need it.
type Object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        Metadata        `json:"metadata"`
	Spec            json.RawMessage `json:"spec,omitempty"`
	Status          json.RawMessage `json:"status,omitempty"`

	raw []byte
}

// Metadata is what rules read of metav1.ObjectMeta: all but the managed fields, which are most of its bytes.
type Metadata struct {
	Name              string                  `json:"name,omitempty"`
	GenerateName      string                  `json:"generateName,omitempty"`
	Namespace         string                  `json:"namespace,omitempty"`
	UID               types.UID               `json:"uid,omitempty"`
	ResourceVersion   string                  `json:"resourceVersion,omitempty"`
	Generation        int64                   `json:"generation,omitempty"`
	DeletionTimestamp *metav1.Time            `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string       `json:"labels,omitempty"`
	Annotations       map[string]string       `json:"annotations,omitempty"`
	Finalizers        []string                `json:"finalizers,omitempty"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

// ParseObject reads an object from JSON. Empty input is no object: nil and no error, as reviews leave one side out.
func ParseObject(raw []byte) (*Object, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	o := &Object{raw: raw}
	if err := json.Unmarshal(raw, o); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return o, nil
}

// Raw is the object's JSON as it came.
func (o *Object) Raw() []byte { return o.raw }

// Deleting reports whether the object waits for its finalizers to go.
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
