// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// deployment is the story of a MachineDeployment with a set. One of the set's Machines is mirrored, is run by Cluster API and has a hook.
func deployment(t *testing.T, p *place) {
	const spec = `spec: {clusterName: x, replicas: 1, selector: {matchLabels: {d: d}}, template: {metadata: {labels: {d: d}}, spec: {clusterName: x,
		bootstrap: {dataSecretName: worker-user-data}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachineTemplate, name: d}}}}`
	manifest := func(kind, name, metadata string) string {
		return fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: %s, metadata: {namespace: c, name: %s%s}, %s}`, kind, name, metadata, spec)
	}
	ownedBy := func(kind, name, uid string) string {
		return fmt.Sprintf(`, ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: %s, name: %s, uid: "%s", controller: true}]`, kind, name, uid)
	}
	gone := p.admin.Create(t.Context(), p.object(t, manifest(authority.MachineDeployment, "gone", ownedBy("Cluster", "x", "gone"))))
	if gone == nil || !strings.Contains(gone.Error(), "[authority/finalizers-owned]") {
		t.Errorf("created with an owner that is gone: %v", gone)
	}
	d := p.object(t, manifest(authority.MachineDeployment, "d", ""))
	p.must(t, p.admin.Create(t.Context(), d))
	given := p.admin.Patch(t.Context(), toward(d.GroupVersionKind(), "c", "d"),
		merge(`{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","name":"x","uid":"gone"}]}}`))
	if given == nil || !strings.Contains(given.Error(), "[authority/finalizers-owned]") {
		t.Errorf("given an owner that is gone: %v", given)
	}
	set := p.object(t, manifest("MachineSet", "d-1", ownedBy(authority.MachineDeployment, "d", string(d.GetUID()))))
	p.must(t, p.admin.Create(t.Context(), set))
	machine := p.object(t, strings.Replace(twinManifest("d-1-a"), `annotations: {cluster.x-k8s.io/paused: ""}`,
		`annotations: {pre-drain.delete.hook.machine.cluster.x-k8s.io/backup: mine}`+ownedBy("MachineSet", "d-1", string(set.GetUID())), 1))
	p.must(t, p.admin.Create(t.Context(), machine))
	p.create(t, p.admin, strings.Replace(machineManifest("d-1-a", ""), "spec:", "spec:\n  authoritativeAPI: ClusterAPI", 1))
	mapi := coreKind(policies.SideMachineAPI, "Machine")
	p.patchStatus(t, mapi, "m", "d-1-a", `{"status":{"authoritativeAPI":"ClusterAPI","synchronizedAPI":"ClusterAPI"}}`)
	eventually(t, "the deletion in the foreground is refused", func() bool {
		err := p.admin.Delete(t.Context(), toward(d.GroupVersionKind(), "c", "d"), client.DryRunAll, client.PropagationPolicy(metav1.DeletePropagationForeground))
		return err != nil && strings.Contains(err.Error(), "without waiting for the hooks of Machine d-1-a. Delete the MachineDeployment in the background") &&
			strings.Contains(err.Error(), "[authority/delete-hooked]")
	})
	p.must(t, p.poundlock.Delete(t.Context(), toward(mapi, "m", "d-1-a")))
	for _, o := range []client.Object{d, set, machine} {
		p.must(t, p.admin.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
	p.warned.take()
}
