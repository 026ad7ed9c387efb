// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// TestMachineNews: what the mirror reports concerns a Machine that has not begun, and no other.
func TestMachineNews(t *testing.T) {
	reports := func(version, message string, finalizers ...string) *machinev1beta1.Machine {
		return &machinev1beta1.Machine{
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Finalizers: finalizers},
			Status:     machinev1beta1.MachineStatus{Conditions: []machinev1beta1.Condition{{Type: "Synchronized", Reason: "ForeignTwin", Message: message}}},
		}
	}
	const held = machinev1beta1.MachineFinalizer
	for sentence, c := range map[string]struct {
		before, after *machinev1beta1.Machine
		want          bool
	}{
		"one that has not begun":            {reports("1", "a"), reports("2", "b"), true},
		"one that has begun":                {reports("1", "a", held), reports("2", "b", held), false},
		"one whose mirror reports the same": {reports("1", "a"), reports("2", "a"), false},
	} {
		if got := machineNews(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %t, want %t", sentence, got, c.want)
		}
	}
}
