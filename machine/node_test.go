// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/machine"
)

func node(name, providerID string, addresses ...string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

func born(n corev1.Node, at int64) corev1.Node {
	n.CreationTimestamp = metav1.NewTime(time.Unix(at, 0))
	return n
}

func claimed(n corev1.Node, by string) corev1.Node {
	n.Annotations = map[string]string{machine.NodeAnnotation: by}
	return n
}

func TestNodeOf(t *testing.T) {
	here := withAddress(corev1.NodeInternalIP, "10.0.0.1")
	for name, c := range map[string]struct {
		m     *machinev1beta1.Machine
		nodes []corev1.Node
		want  string
	}{
		"none":            {machineThat(here), nil, ""},
		"the provider ID": {machineThat(withProviderID("a://1")), []corev1.Node{node("x", "a://2"), node("y", "a://1")}, "y"},
		"the provider ID, of which only one side has the region":       {machineThat(withProviderID("openstack://RegionOne/u-1")), []corev1.Node{node("x", "openstack:///u-2"), node("y", "openstack:///u-1")}, "y"},
		"the provider ID before an address":                            {machineThat(withProviderID("a://1"), here), []corev1.Node{node("x", "", "10.0.0.1"), node("y", "a://1")}, "y"},
		"an address, where the Node has no provider ID":                {machineThat(withProviderID("a://1"), here), []corev1.Node{node("x", "", "10.0.0.1")}, "x"},
		"an address, where the Machine has none":                       {machineThat(here), []corev1.Node{node("x", "a://9", "10.0.0.1")}, "x"},
		"an address that came back with another instance":              {machineThat(withProviderID("a://1"), here), []corev1.Node{node("x", "a://2", "10.0.0.1")}, ""},
		"an address that another Machine's Node has":                   {machineThat(here), []corev1.Node{claimed(node("x", "", "10.0.0.1"), "ns/two")}, ""},
		"an address, once claimed":                                     {machineThat(here), []corev1.Node{claimed(node("x", "", "10.0.0.1"), "ns/one")}, "x"},
		"an address that two Nodes have":                               {machineThat(here), []corev1.Node{node("x", "", "10.0.0.1"), node("y", "", "10.0.0.1")}, ""},
		"one Node found twice":                                         {machineThat(here), []corev1.Node{node("x", "", "10.0.0.1"), node("x", "", "10.0.0.1")}, "x"},
		"an outer address is no evidence":                              {machineThat(withAddress(corev1.NodeExternalIP, "10.0.0.1")), []corev1.Node{node("x", "", "10.0.0.1")}, ""},
		"no providerID on either side is none in common":               {machineThat(), []corev1.Node{node("x", "")}, ""},
		"the one that it refers to":                                    {machineThat(withNode("x")), []corev1.Node{node("x", "")}, "x"},
		"a name that came back with another instance":                  {machineThat(withNode("x"), withProviderID("a://1")), []corev1.Node{node("x", "a://2")}, ""},
		"two Nodes of one instance: the one that it refers to":         {machineThat(withProviderID("a://1"), withNode("x")), []corev1.Node{born(node("y", "a://1"), 2), born(node("x", "a://1"), 1)}, "x"},
		"two Nodes of one instance: the one that was registered later": {machineThat(withProviderID("a://1")), []corev1.Node{born(node("x", "a://1"), 1), born(node("y", "a://1"), 2)}, "y"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if n := machine.NodeOf(c.m, c.nodes); n != nil {
				got = n.Name
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestFurnish(t *testing.T) {
	m := machineThat()
	m.Spec.Labels = map[string]string{"a": "new", "b": "new"}
	m.Spec.Annotations = map[string]string{"c": "new", machine.NodeAnnotation: "ns/a-lie"}
	m.Spec.Taints = []corev1.Taint{{Key: "a", Value: "ours", Effect: "NoSchedule"}, {Key: "b", Value: "ours", Effect: "NoSchedule"}}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "old", "theirs": "x"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "a", Value: "theirs", Effect: "NoSchedule"}, {Key: "b", Effect: "NoExecute"}}},
	}
	before := n.DeepCopy()
	got := machine.Furnish(m, n)
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"a": "new", "b": "new", "theirs": "x"},
			Annotations: map[string]string{"c": "new", machine.NodeAnnotation: "ns/one"},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "a", Value: "theirs", Effect: "NoSchedule"}, {Key: "b", Effect: "NoExecute"}, {Key: "b", Value: "ours", Effect: "NoSchedule"},
		}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff(want, machine.Furnish(m, got)); d != "" {
		t.Errorf("done twice: -want +got:\n%s", d)
	}
	if d := cmp.Diff(before, n); d != "" {
		t.Errorf("the Node that was given is changed:\n%s", d)
	}
}

func TestKeep(t *testing.T) {
	at := func(kind, status string) machinev1beta1.Condition {
		return machinev1beta1.Condition{Type: machinev1beta1.ConditionType(kind), Status: corev1.ConditionStatus(status)}
	}
	m := machineThat(held, inPhase("Provisioning"))
	m.Status.Conditions = []machinev1beta1.Condition{at("Paused", "False"), at("Synchronized", "True"), at("Theirs", "False"), at("Dropped", "True"),
		at("InstanceExists", "True")}
	theirs := m.DeepCopy()
	theirs.Labels, theirs.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
	theirs.Spec.ProviderID, theirs.Status.Addresses = new("a://1"), []corev1.NodeAddress{{Address: "x"}}
	theirs.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte("{}")}
	theirs.Status.Conditions = []machinev1beta1.Condition{at("New", "True"), at("Theirs", "True"), at("Paused", "True"),
		at("Synchronized", "False"), at("Drained", "True")}
	want := m.DeepCopy()
	want.Labels, want.Annotations, want.Spec.ProviderID = theirs.Labels, theirs.Annotations, theirs.Spec.ProviderID
	want.Status.Addresses, want.Status.ProviderStatus = theirs.Status.Addresses, theirs.Status.ProviderStatus
	want.Status.Conditions = []machinev1beta1.Condition{at("Paused", "False"), at("Synchronized", "True"), at("Theirs", "True"),
		at("InstanceExists", "True"), at("New", "True")}

	// Beyond what it may.
	theirs.Name, theirs.Finalizers, theirs.OwnerReferences = "two", nil, []metav1.OwnerReference{{Name: "x"}}
	theirs.Spec.Labels, theirs.Spec.Taints, theirs.Spec.AuthoritativeAPI = map[string]string{"x": "y"}, []corev1.Taint{{Key: "x"}}, "ClusterAPI"
	theirs.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte("{}")}
	theirs.Status.Phase, theirs.Status.ErrorMessage, theirs.Status.AuthoritativeAPI = new("Running"), new("x"), "ClusterAPI"
	theirs.Status.NodeRef, theirs.Status.LastUpdated = &corev1.ObjectReference{Name: "x"}, &metav1.Time{}

	machine.Keep(m, theirs)
	if d := cmp.Diff(want, m); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
