// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanemirror

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestWhichMachinesWakeTheSet(t *testing.T) {
	machine := func(role string, generation int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
			"generation": generation, "labels": map[string]any{"machine.openshift.io/cluster-api-machine-role": role},
		}}}
	}
	for sentence, c := range map[string]struct {
		role     string
		was, now int64
		wakes    bool
	}{
		"the spec of a master":   {"master", 1, 2, true},
		"the status of a master": {"master", 1, 1, false},
		"the spec of a worker":   {"worker", 1, 2, false},
	} {
		if got := masterChanged().Update(event.UpdateEvent{ObjectOld: machine(c.role, c.was), ObjectNew: machine(c.role, c.now)}); got != c.wakes {
			t.Errorf("a change of %s wakes the set: %t", sentence, got)
		}
	}
	if masterChanged().Create(event.CreateEvent{Object: machine("worker", 1)}) || !masterChanged().Create(event.CreateEvent{Object: machine("master", 1)}) {
		t.Error("a new master wakes the set, and a new worker does not")
	}
}
