// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// TestPausesChange: only what pauses or unpauses a Cluster requeues all pairs.
func TestPausesChange(t *testing.T) {
	cluster := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	}
	paused, acts, other := cluster(map[string]any{"paused": true}), cluster(nil), cluster(map[string]any{"paused": false, "topology": map[string]any{}})
	p := pausesChange()
	for sentence, c := range map[string]struct {
		old, now *unstructured.Unstructured
		want     bool
	}{
		"paused": {acts, paused, true}, "unpaused": {paused, other, true}, "changed": {acts, other, false}, "still paused": {paused, paused, false},
	} {
		if got := p.Update(event.UpdateEvent{ObjectOld: c.old, ObjectNew: c.now}); got != c.want {
			t.Errorf("%s: %t", sentence, got)
		}
	}
	if p.Create(event.CreateEvent{Object: paused}) || p.Delete(event.DeleteEvent{Object: paused}) || p.Generic(event.GenericEvent{Object: paused}) {
		t.Error("what is not an update passes")
	}
}
