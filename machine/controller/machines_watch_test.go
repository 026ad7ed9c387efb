// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/poundlock/poundlock/internal/instanceid"
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
		if got := machineChanged(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s: %t, want %t", sentence, got, c.want)
		}
	}
}

// TestKeysOfOneInstance: a Node is found by its instance, however the ID is spelt, and policies know an instance by the same.
func TestKeysOfOneInstance(t *testing.T) {
	for _, ids := range [][2]string{
		{"openstack://RegionOne/u-1", "openstack:///u-1"}, {"aws:///us-east-1a/i-1", "aws:///us-east-1b/i-1"},
		{"azure:///subscriptions/A/b", "azure:///subscriptions/a/b"}, {"gce://p/z/n", "gce://p/z/n"},
		{"aws:///us-east-1a/i-1", "aws:///us-east-1a/i-1/"}, {"gce://p/z/n", " gce://p//Z/n"},
	} {
		m, n := &machinev1beta1.Machine{Spec: machinev1beta1.MachineSpec{ProviderID: &ids[0]}}, &corev1.Node{Spec: corev1.NodeSpec{ProviderID: ids[1]}}
		if keys := machineKeys(m); !slices.Contains(keysOfNode(n), keys[0]) || instanceid.Key(ids[0]) != instanceid.Key(ids[1]) {
			t.Errorf("%q and %q: %v and %v", ids[0], ids[1], keys, keysOfNode(n))
		}
	}
}
