// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// MarksManager is the field manager with which Poundlock writes annotations to objects of others that its mirrors depend on: namespaces,
// CustomResourceDefinitions and Clusters.
const MarksManager = "poundlock-surroundings"

// Read returns the fields of an entry; an empty set if it has none. Path elements of a kind that this build does not know are omitted. The API server omits
// them, too.
func Read(e metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if e.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("reading the managed fields of %s: %w", e.Manager, err)
	}
	return set, nil
}

// Write returns a set of fields in the form in which an entry has it.
func Write(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	raw, err := set.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("writing managed fields: %w", err)
	}
	out := &metav1.FieldsV1{}
	out.SetRawBytes(raw)
	return out, nil
}

// Path returns a path made of field names, such as spec, replicas.
func Path(names ...string) fieldpath.Path {
	out := make(fieldpath.Path, len(names))
	for i, name := range names {
		out[i] = fieldpath.FieldNameElement(name)
	}
	return out
}

// Holds reports whether a set has the field at a path, or a field below it.
func Holds(set *fieldpath.Set, path fieldpath.Path) bool {
	last := len(path) - 1
	for _, step := range path[:last] {
		below, has := set.Children.Get(step)
		if !has {
			return false
		}
		set = below
	}
	_, parts := set.Children.Get(path[last])
	return parts || set.Members.Has(path[last])
}

// EntryHolds reports whether an entry has the field at a path, or a field below it. It returns false for an entry that cannot be read.
func EntryHolds(e metav1.ManagedFieldsEntry, path fieldpath.Path) bool {
	set, err := Read(e)
	return err == nil && Holds(set, path)
}
