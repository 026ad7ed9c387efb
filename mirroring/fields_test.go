// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirroring

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/ownership"
)

// TestClearedManagedFieldsAreClaimed: a mirror without an entry of ours cannot be relieved of what its authority drops later, so that it is applied once.
func TestClearedManagedFieldsAreClaimed(t *testing.T) {
	const marked = `annotations: {` + authority.MirrorAnnotation + `: Machine/m}`
	for _, c := range []struct {
		sentence, live string
		claims         bool
	}{
		{"nothing is left of them", `{metadata: {` + marked + `}, spec: {a: 1}}`, true},
		{"another's entry is left", `{metadata: {` + marked + `, managedFields: [` + mirroringtest.Manager("kubectl", "Update", `{"f:spec": {"f:a": {}}}`) + `]}, spec: {a: 1}}`, true},
		{"ours is there", `{metadata: {` + marked + `, managedFields: [` + mirroringtest.Manager(ownership.Manager, "Apply", `{"f:spec": {"f:a": {}}}`) + `]}, spec: {a: 1}}`, false},
		{"the Machine API's mirror, too", `{apiVersion: machine.openshift.io/v1beta1, metadata: {}, spec: {a: 1}}`, true},
		{"one that somebody else made is taken over field by field", `{metadata: {managedFields: [` + mirroringtest.Manager("kubectl", "Update", `{"f:spec": {"f:a": {}}}`) + `]}, spec: {a: 1}}`, false},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m"}
		s.MachineAPI = mirroringtest.Machine(t, `{metadata: {name: m}, status: {authoritativeAPI: MachineAPI, synchronizedGeneration: 1}}`)
		w := Become(s, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "spec": map[string]any{"a": int64(1)}}}, mirroringtest.Machine(t, c.live))
		if got := w != nil && w.Verb == pairs.Apply; got != c.claims {
			t.Errorf("%s: applied: %t", c.sentence, got)
		}
	}
}
