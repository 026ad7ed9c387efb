// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/policies/authority"
)

// No move starts to objects that are about to be deleted, even if nobody has asked to delete these. For example, a deletion of the definition of sets deletes
// all sets, and with them the Machines that they own.
func TestSurroundingsOfAMachine(t *testing.T) {
	kind, _ := authority.KindNamed("Machine")
	namespaces := authority.Pair{MachineAPI: "mapi", ClusterAPI: "capi"}
	const owned = `{"metadata": {"ownerReferences": [{"kind": "MachineSet", "name": "s", "controller": true}]}, "spec": {"clusterName": "c"}}`
	for _, c := range []struct {
		sentence string
		to       authority.API
		object   string
		want     []string
	}{
		{"of the Machine API, without a set", authority.MachineAPI, `{}`, []string{"Namespace mapi", "CustomResourceDefinition machines.machine.openshift.io"}},
		{"of the Machine API, of a set", authority.MachineAPI, owned,
			[]string{"Namespace mapi", "CustomResourceDefinition machines.machine.openshift.io", "CustomResourceDefinition machinesets.machine.openshift.io"}},
		{"of Cluster API, of a set", authority.ClusterAPI, owned,
			[]string{"Namespace capi", "CustomResourceDefinition machines.cluster.x-k8s.io", "CustomResourceDefinition machinesets.cluster.x-k8s.io", "Cluster c"}},
		{"an owner that controls nothing", authority.MachineAPI, `{"metadata": {"ownerReferences": [{"kind": "MachineSet", "name": "s"}]}}`,
			[]string{"Namespace mapi", "CustomResourceDefinition machines.machine.openshift.io"}},
		{"the control plane's set", authority.MachineAPI, `{"metadata": {"ownerReferences": [{"kind": "ControlPlaneMachineSet", "name": "cluster", "controller": true}]}}`,
			[]string{"Namespace mapi", "CustomResourceDefinition machines.machine.openshift.io"}},
	} {
		var got []string
		for _, s := range kind.Surroundings(c.to, namespaces, parsed(t, c.object), parsed(t, c.object)) {
			got = append(got, s.Kind+" "+s.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sentence, diff)
		}
	}
}

// TestDefinitions tests which CRDs have the mark: those of the kinds that are mirrored in both APIs, and those of kinds that own mirrors and are no mirrors
// themselves.
func TestDefinitions(t *testing.T) {
	want := []string{
		"machines.machine.openshift.io", "machines.cluster.x-k8s.io", "machinesets.machine.openshift.io", "machinesets.cluster.x-k8s.io",
		"machinehealthchecks.machine.openshift.io", "machinehealthchecks.cluster.x-k8s.io", "clusters.cluster.x-k8s.io", "machinedeployments.cluster.x-k8s.io",
		"controlplanemachinesets.machine.openshift.io",
	}
	if diff := cmp.Diff(want, authority.Definitions()); diff != "" {
		t.Error(diff)
	}
}
