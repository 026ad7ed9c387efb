// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"testing"

	"github.com/poundlock/poundlock/conversion/core"
	"sigs.k8s.io/yaml"
)

func TestShow(t *testing.T) {
	m := object(t, set)
	tw, errs := core.ToClusterAPI("MachineSet", m, env())
	for _, e := range errs {
		t.Error(e)
	}
	if tw.Core == nil {
		return
	}
	a, _ := yaml.Marshal(tw.Core)
	b, _ := yaml.Marshal(tw.Infra)
	t.Log(string(a))
	t.Log(string(b))
	back, errs := core.ToMachineAPI("MachineSet", tw, env())
	for _, e := range errs {
		t.Error(e)
	}
	diff(t, m.Object, back.Object)
}

const set = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata:
  name: worker-a
  namespace: openshift-machine-api
  labels: {machine.openshift.io/cluster-api-cluster: ocean-x7k2p}
spec:
  replicas: 2
  deletePolicy: Oldest
  selector:
    matchLabels:
      machine.openshift.io/cluster-api-cluster: ocean-x7k2p
      machine.openshift.io/cluster-api-machineset: worker-a
  template:
    metadata:
      labels:
        machine.openshift.io/cluster-api-cluster: ocean-x7k2p
        machine.openshift.io/cluster-api-machine-role: worker
        machine.openshift.io/cluster-api-machine-type: worker
        machine.openshift.io/cluster-api-machineset: worker-a
    spec:
      lifecycleHooks:
        preDrain: [{name: Beta, owner: clusteroperator/etcd}, {name: alpha, owner: you}]
      taints: [{key: gpu, value: "yes", effect: NoSchedule}]
      metadata: {labels: {node-role.kubernetes.io/infra: ""}}
      providerSpec:
        value:
          apiVersion: machine.openshift.io/v1beta1
          kind: AWSMachineProviderConfig
          ami: {id: ami-0fc5}
          instanceType: m6i.xlarge
          deviceIndex: 0
          credentialsSecret: {name: aws-cloud-credentials}
          userDataSecret: {name: worker-user-data}
          iamInstanceProfile: {id: ocean-x7k2p-worker-profile}
          placement: {availabilityZone: us-east-1a, region: us-east-1}
          subnet: {filters: [{name: "tag:Name", values: [ocean-x7k2p-subnet-private-us-east-1a]}]}
          securityGroups: [{filters: [{name: "tag:Name", values: [ocean-x7k2p-node]}]}]
          blockDevices: [{ebs: {encrypted: true, volumeSize: 120, volumeType: gp3}}]
          tags: [{name: kubernetes.io/cluster/ocean-x7k2p, value: owned}]
`
