// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/poundlock/poundlock/internal/managedfields"
)

func entry(fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(fields)}
}

func TestWhatIsReadIsWrittenAgain(t *testing.T) {
	const unknown = `{"f:spec":{"f:a":{},"x:new":{}}}`
	for text, want := range map[string]string{
		`{}`: `{}`,
		`{"f:metadata":{"f:finalizers":{".":{},"v:\"f\"":{}}},"f:spec":{"f:l":{"k:{\"k\":1}":{".":{},"f:v":{}}}}}`: ``,
		unknown: `{"f:spec":{"f:a":{}}}`,
	} {
		if want == "" {
			want = text
		}
		set, err := managedfields.Read(entry(text))
		if err != nil {
			t.Fatal(err)
		}
		written, err := managedfields.Write(set)
		if err != nil {
			t.Fatal(err)
		}
		if got := written.GetRawString(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if set, err := managedfields.Read(metav1.ManagedFieldsEntry{}); err != nil || !set.Empty() {
		t.Errorf("of an entry without fields: %v, %v", set, err)
	}
	for _, text := range []string{`{`, `{"spec":{}}`, `{"f:spec":{"k:{":{}}}`} {
		if _, err := managedfields.Read(entry(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

func TestHolds(t *testing.T) {
	e := entry(`{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"c\"}":{}}},"f:spec":{"f:a":{},"f:m":{"f:n":{}}}}`)
	for _, c := range []struct {
		path fieldpath.Path
		want bool
	}{
		{managedfields.Path("spec"), true},
		{managedfields.Path("spec", "a"), true},
		{managedfields.Path("spec", "a", "b"), false},
		{managedfields.Path("spec", "m"), true},
		{managedfields.Path("spec", "n"), false},
		{managedfields.Path("status"), false},
		{append(managedfields.Path("metadata", "ownerReferences"), fieldpath.KeyElementByFields("uid", "c")), true},
		{append(managedfields.Path("metadata", "ownerReferences"), fieldpath.KeyElementByFields("uid", "d")), false},
	} {
		if got := managedfields.EntryHolds(e, c.path); got != c.want {
			t.Errorf("%s: %v", c.path, got)
		}
	}
	if managedfields.EntryHolds(entry(`{"f:spec":`), managedfields.Path("spec")) {
		t.Error("what cannot be read holds something")
	}
}
