// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// The field manager is that of an update. A PATCH has it, too, because the API server sends a PATCH with the options of an update.
func TestFieldManager(t *testing.T) {
	for options, want := range map[string]string{
		"": "",
		`{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1"}`:                               "",
		`{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"kubectl-edit"}`: "kubectl-edit",
	} {
		if got, err := fieldManager(&request{Operation: update, Options: []byte(options)}); err != nil || got != want {
			t.Errorf("%s: %q and %v, want %q", options, got, err, want)
		}
	}
	for _, operation := range []admissionv1.Operation{create, remove} {
		if got, err := fieldManager(&request{Operation: operation, Options: []byte(`{"fieldManager":"x"}`)}); err != nil || got != "" {
			t.Errorf("%s: %q and %v", operation, got, err)
		}
	}
	if _, err := fieldManager(&request{Operation: update, Options: []byte(`{"fieldManager":1}`)}); err == nil {
		t.Error("options that cannot be read are no error")
	}
}
