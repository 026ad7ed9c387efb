// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"regexp"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/test/stories"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A namespace, CRD or Cluster that mirrors live in cannot be deleted, neither by name nor in a collection, unless somebody has allowed that.
func TestWhatMirrorsLiveInIsNotDeleted(t *testing.T) {
	stories.Long(t)
	together(t)
	story(t)
	cluster := schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}
	const name = "lock-7x2k9"
	for _, o := range []object{
		{resource: "namespaces", name: mapi}, {resource: "namespaces", name: capi},
		{resource: "customresourcedefinitions.apiextensions.k8s.io", name: "machines.cluster.x-k8s.io"},
		{resource: "customresourcedefinitions.apiextensions.k8s.io", name: "controlplanemachinesets.machine.openshift.io"},
		{resource: "customresourcedefinitions.apiextensions.k8s.io", name: "machinedeployments.cluster.x-k8s.io"},
		{resource: "customresourcedefinitions.apiextensions.k8s.io", name: "awsmachines.infrastructure.cluster.x-k8s.io"},
		{resource: "clusters.cluster.x-k8s.io", namespace: capi, name: name},
		{resource: "awsclusters.infrastructure.cluster.x-k8s.io", namespace: capi, name: name},
	} {
		eventually(t, o.name+" is marked", func() string {
			a := kubectl(t, "", o.args("get", "-o", `jsonpath={.metadata.annotations.poundlock\.openshift\.io/holds-mirrors}`)...)
			return a.err + map[bool]string{true: "marked", false: "not: " + a.out}[strings.Contains(a.out, "Machine")]
		}, "marked")
		if a := kubectl(t, "", o.args("delete", "--dry-run=server")...); a.ok || !strings.Contains(a.err, "[authority/surroundings]") {
			t.Errorf("deleting %s %s: %s", o.resource, o.name, a.err)
		}
		if a := kubectl(t, "", o.args("patch", "--dry-run=server", "--type=merge", "-p",
			`{"metadata":{"annotations":{"poundlock.openshift.io/holds-mirrors":null}}}`)...); a.ok || !strings.Contains(a.err, "[authority/surroundings]") {
			t.Errorf("removing the mark of %s %s: %s", o.resource, o.name, a.err)
		}
	}
	clusters := &unstructured.Unstructured{}
	clusters.SetGroupVersionKind(cluster)
	err := stage.Admin.DeleteAllOf(t.Context(), clusters, client.InNamespace(capi),
		&client.DeleteAllOfOptions{DeleteOptions: client.DeleteOptions{DryRun: []string{metav1.DryRunAll}}})
	if err == nil || !strings.Contains(err.Error(), "[authority/surroundings]") {
		t.Errorf("deleting the collection of Clusters: %v", err)
	}
	definition := object{resource: "customresourcedefinitions.apiextensions.k8s.io", name: "awsmachinetemplates.infrastructure.cluster.x-k8s.io"}
	must(t, definition.args("patch", "--type=merge", "-p", `{"metadata":{"annotations":{"poundlock.openshift.io/allow-deletion":"false"}}}`)...)
	a := kubectl(t, "", definition.args("delete", "--dry-run=server")...)
	if a.ok || !strings.Contains(a.err, "only with the value true") {
		t.Errorf("deleting what is not allowed to be deleted: %s", a.err)
	}
	t.Log(shell(t, regexp.MustCompile(`kubectl annotate \S.*allow-deletion=true`).FindString(a.err))) // as the message says
	must(t, definition.args("delete", "--dry-run=server")...)
	must(t, definition.args("patch", "--type=merge", "-p", `{"metadata":{"annotations":{"poundlock.openshift.io/allow-deletion":null}}}`)...)
}
