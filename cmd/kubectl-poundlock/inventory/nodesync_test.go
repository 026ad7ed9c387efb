// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/policies/authority"
)

// What Cluster API's manager syncs to Nodes, and which of its gates are on, is in the arguments of its Deployment.
func TestWhatClusterAPIsManagerIsToldIsRead(t *testing.T) {
	for about, c := range map[string]struct {
		deployment string
		known      bool
		labels     int
		gate       bool
	}{
		"OpenShift's": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: capi-controller-manager, namespace: openshift-cluster-api}, spec: {template: {spec: {containers: [{name: manager,
  command: [./bin/cluster-api-controller-manager], args: [--unheard-of=1, "--additional-sync-machine-labels=.*", "--additional-sync-machine-annotations=.*", "--feature-gates=MachineTaintPropagation=true"]}]}}}}`, true, 1, true},
		"two in one flag": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: capi-controller-manager, namespace: openshift-cluster-api}, spec: {template: {spec: {containers: [{name: manager,
  args: ["--additional-sync-machine-labels=a/.*,b/.*"]}]}}}}`, true, 2, false},
		"an empty flag": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: capi-controller-manager, namespace: openshift-cluster-api}, spec: {template: {spec: {containers: [{name: manager,
  args: ["--additional-sync-machine-labels="]}]}}}}`, true, 0, false},
		"one without":     {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: capi-controller-manager, namespace: openshift-cluster-api}, spec: {template: {spec: {containers: [{name: manager}]}}}}`, true, 0, false},
		"of another name": {`{apiVersion: apps/v1, kind: Deployment, metadata: {name: other, namespace: openshift-cluster-api}}`, false, 0, false},
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(c.deployment), &o.Object); err != nil {
			t.Fatal(err)
		}
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{{Group: "apps", Version: "v1", Resource: "deployments"}: "DeploymentList"}, o)
		read := &collection{fleet: &Fleet{}}
		known := read.nodeSync(t.Context(), client, authority.Pair{MachineAPI: "openshift-machine-api", ClusterAPI: "openshift-cluster-api"})
		if known != c.known || len(read.fleet.nodeSync.Labels) != c.labels || read.fleet.gates["MachineTaintPropagation"] != c.gate {
			t.Errorf("%s: read %t, %+v, %v", about, known, read.fleet.nodeSync, read.fleet.gates)
		}
	}
}
