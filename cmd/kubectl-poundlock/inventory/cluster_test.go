// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// TestAFormerMirrorIsKnown: only the managed fields show that Poundlock paused a mirror whose mark cleanup has removed.
func TestAFormerMirrorIsKnown(t *testing.T) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","metadata":{"name":"a","namespace":"c",
		"annotations":{"cluster.x-k8s.io/paused":""},"managedFields":[{"manager":"poundlock-mirror","operation":"Apply","fieldsType":"FieldsV1",
		"fieldsV1":{"f:metadata":{"f:annotations":{"f:cluster.x-k8s.io/paused":{}}}}}]}}`)); err != nil {
		t.Fatal(err)
	}
	o, err := FromUnstructured(u)
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := authority.KindNamed("Machine")
	if authority.NotReflected(kind, o) == "" {
		t.Errorf("want the reason of a former mirror for %s", o.Raw())
	}
}
