// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// Masters with different load balancers receive the same command for the AWSCluster: two that differ would undo each other.
func TestOneCommandForAllMasters(t *testing.T) {
	const cluster = `{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"lock","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}
---
{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSCluster","metadata":{"name":"lock","namespace":"openshift-cluster-api"},"spec":{"region":"us-east-1"}}`
	documents := []string{cluster}
	for i, names := range []string{`{"name":"b","type":"network"}`, `{"name":"a","type":"network"}`, `{"name":"a","type":"network"},{"name":"b","type":"network"}`} {
		documents = append(documents, fmt.Sprintf(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"master-%d","namespace":"openshift-machine-api",
"labels":{"machine.openshift.io/cluster-api-machine-role":"master","machine.openshift.io/cluster-api-machine-type":"master"}},"spec":{"providerID":"aws:///us-east-1a/i-%[1]d","providerSpec":{"value":
{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig","ami":{"id":"ami-1"},"instanceType":"m6i.large","subnet":{"id":"subnet-1"},"userDataSecret":{"name":"master-user-data"},
"blockDevices":[{"ebs":{"volumeSize":120}}],"placement":{"region":"us-east-1"},"loadBalancers":[%s]}}}}`, i, names))
	}
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
	if err != nil || len(f.Pairs) != 3 {
		t.Fatal(err, f.Problems)
	}
	of := map[string]int{}
	for _, g := range reportOf(f, f.Describe(inventory.Cluster{}), authority.ClusterAPI).Reasons {
		of[g.Field] += len(g.Objects)
		if g.Field == "AWSCluster.spec.controlPlaneLoadBalancer" && (len(g.Objects) != 3 || strings.Count(g.Message, `"name":"a"`) != 1 || strings.Count(g.Message, `"name":"b"`) != 1) {
			t.Errorf("%v: %s", g.Objects, g.Message)
		}
	}
	if of["AWSCluster.spec.controlPlaneLoadBalancer"] != 3 || of["loadBalancers"] != 2 {
		t.Errorf("%v", of)
	}
}

// The report has one sentence for a paused Cluster, however many objects move there.
func TestAPausedClusterIsReportedOnce(t *testing.T) {
	documents := []string{`{"apiVersion":"config.openshift.io/v1","kind":"Infrastructure","metadata":{"name":"cluster"},"status":{"infrastructureName":"lock","platformStatus":{"type":"AWS","aws":{"region":"us-east-1"}}}}`,
		`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"name":"lock","namespace":"openshift-cluster-api"},"spec":{"paused":true}}`}
	for _, name := range []string{"a", "b"} {
		documents = append(documents, fmt.Sprintf(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"MachineHealthCheck","metadata":{"name":%q,"namespace":"openshift-machine-api"},
"spec":{"authoritativeAPI":"MachineAPI","selector":{}},"status":{"authoritativeAPI":"MachineAPI"}}`, name),
			fmt.Sprintf(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineHealthCheck","metadata":{"name":%q,"namespace":"openshift-cluster-api"},"spec":{"clusterName":"lock"}}`, name))
	}
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
	if err != nil || len(f.Pairs) != 2 {
		t.Fatal(err, f.Problems)
	}
	if got := reportOf(f, f.Describe(inventory.Cluster{}), authority.ClusterAPI).PausedClusters; len(got) != 1 || !strings.Contains(got[0], "Cluster lock in openshift-cluster-api is paused") {
		t.Errorf("%q", got)
	}
}
