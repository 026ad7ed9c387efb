// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestFleet runs every controller over a cloud: a set's Machines start, one of their Nodes fails, its check has the Machine deleted, and the
// set makes another; each Machine has one instance, and one alone is ended.
func TestFleet(t *testing.T) {
	p := newPlace(t)
	cloud, err := machinetest.New(machinetest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.run(Add, Options{Gated: true, Actuator: &machinetest.Actuator{Cloud: cloud.As(authority.MachineAPI), Poll: 50 * time.Millisecond}})
	p.newCheck("", `selector: {matchLabels: {set: workers}}, `+notReady)
	p.newSet(3, func(s *machinev1beta1.MachineSet) {
		raw := []byte(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","instanceType":"m6i.large","ami":{"id":"ami-1"},"placement":{"region":"us-east-1","availabilityZone":"us-east-1a"}}`)
		s.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: raw}
	})
	ready := func(n int32) func() bool {
		return func() bool {
			p.join(cloud)
			s := p.set().Status
			return s.Replicas == 3 && s.ReadyReplicas == n && s.AvailableReplicas == n
		}
	}
	p.eventually("three Machines are ready", ready(3))
	p.counts(3, 3)
	before := p.machineNames()
	broken := p.machines()[1]
	p.breaks(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: broken.Status.NodeRef.Name}})
	p.eventually("the Machine is gone", func() bool { return !slices.Contains(p.machineNames(), broken.Name) })
	p.eventually("three Machines are ready again", ready(3))
	p.counts(3, 3)
	if same := slices.DeleteFunc(p.machineNames(), func(n string) bool { return !slices.Contains(before, n) }); len(same) != 2 {
		t.Errorf("of %v only %v are left", before, same)
	}
	instances, err := cloud.Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := slices.DeleteFunc(slices.Clone(instances), func(i machinetest.Instance) bool { return i.State != machinetest.Terminated })
	if len(instances) != 4 || len(ended) != 1 || ended[0].Machine.Name != broken.Name {
		t.Errorf("%d instances, ended: %v", len(instances), ended)
	}
	if err := cloud.Audit(t.Context()); err != nil {
		t.Error(err)
	}
}

// join is what kubelets do: each running instance has a Node, which says that it is ready when it first comes.
func (p *place) join(cloud *machinetest.Cloud) {
	p.Helper()
	instances, err := cloud.Instances(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	for _, i := range instances {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.namespace + "-" + i.ID}, Spec: corev1.NodeSpec{ProviderID: i.ProviderID()}}
		if i.State == machinetest.Running && p.Create(p.Context(), n) == nil {
			p.reportCondition(n, "Ready", "True", time.Now().Add(-time.Hour))
			p.Cleanup(func() { _ = p.Delete(context.Background(), n) })
		}
	}
}
