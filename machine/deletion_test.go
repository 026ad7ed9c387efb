// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/machine"
)

func TestHooks(t *testing.T) {
	m := machineThat()
	for _, c := range []machinev1beta1.Condition{machine.Drainable(m), machine.Terminable(m)} {
		if c.Status != corev1.ConditionTrue || c.Severity != "" {
			t.Errorf("without hooks: %+v", c)
		}
	}
	m.Spec.LifecycleHooks.PreTerminate = []machinev1beta1.LifecycleHook{{Name: "KeepLogs", Owner: "the-logs"}, {Name: "Count", Owner: "the-bill"}}
	if c := machine.Drainable(m); c.Status != corev1.ConditionTrue {
		t.Errorf("a pre-terminate hook holds the drain: %+v", c)
	}
	want := machinev1beta1.Condition{
		Type: "Terminable", Status: "False", Severity: "Warning", Reason: "HookPresent",
		Message: "The termination of the Machine's instance waits until the owner of each hook removes it from spec.lifecycleHooks.preTerminate: KeepLogs (owner the-logs), Count " +
			"(owner the-bill)",
	}
	if c := machine.Terminable(m); c != want {
		t.Errorf("%+v", c)
	}
}

func TestDrainBegun(t *testing.T) {
	because := func(status corev1.ConditionStatus, reason string) edit {
		return func(m *machinev1beta1.Machine) {
			m.Status.Conditions = []machinev1beta1.Condition{{Type: machinev1beta1.MachineDrained, Status: status, Reason: reason}}
		}
	}
	for name, c := range map[string]struct {
		m    *machinev1beta1.Machine
		want bool
	}{
		"nothing said":                           {machineThat(deleted), false},
		"draining":                               {machineThat(deleted, because("False", machine.ReasonDraining)), true},
		"held by a budget":                       {machineThat(deleted, because("False", machinev1beta1.MachineDrainError)), true},
		"drained":                                {machineThat(deleted, because("True", machine.ReasonDrained)), true},
		"waiting for its turn":                   {machineThat(deleted, because("False", machine.ReasonControlPlane)), false},
		"drained once, in another life of it":    {machineThat(because("True", machine.ReasonDrained)), false},
		"drained by a controller that says less": {machineThat(deleted, because("True", "")), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := machine.DrainBegun(c.m); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]bool{"": false, "True": false, "False": false, "Unknown": true} {
		n := &corev1.Node{}
		if status != "" {
			n.Status.Conditions = []corev1.NodeCondition{{Type: "MemoryPressure", Status: "Unknown"}, {Type: "Ready", Status: status}}
		}
		if got := machine.Unreachable(n); got != want {
			t.Errorf("Ready %q: %t, want %t", status, got, want)
		}
	}
}

func TestControlPlane(t *testing.T) {
	for label, want := range map[string]bool{"node-role.kubernetes.io/master": true, "node-role.kubernetes.io/control-plane": true,
		"node-role.kubernetes.io/worker": false} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: ""}}}
		if got := machine.ControlPlane(n); got != want {
			t.Errorf("%s: %t, want %t", label, got, want)
		}
	}
}
