// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion/core"
)

// provider uses most of what a providerSpec and Cluster API can express.
const provider = `
      apiVersion: machine.openshift.io/v1beta1
      kind: AWSMachineProviderConfig
      ami: {id: ami-0fc5}
      instanceType: m6i.xlarge
      deviceIndex: 0
      keyName: ssh
      publicIp: false
      networkInterfaceType: ENA
      cpuOptions: {confidentialCompute: Disabled}
      capacityReservationId: cr-0123
      marketType: CapacityBlock
      metadataServiceOptions: {authentication: Required}
      placementGroupName: group
      placementGroupPartition: 3
      credentialsSecret: {name: aws-cloud-credentials}
      userDataSecret: {name: worker-user-data}
      iamInstanceProfile: {id: ocean-x7k2p-worker-profile}
      placement: {availabilityZone: us-east-1a, region: us-east-1, tenancy: host, host: {affinity: DedicatedHost, dedicatedHost: {allocationStrategy: UserProvided, id: h-0123456789abcdef0}}}
      subnet: {filters: [{name: "tag:Name", values: [ocean-x7k2p-subnet-private-us-east-1a]}]}
      securityGroups: [{filters: [{name: "tag:Name", values: [ocean-x7k2p-node]}]}, {id: sg-1}]
      blockDevices:
      - ebs: {encrypted: true, volumeSize: 120, volumeType: gp3, throughputMib: 200, kmsKey: {arn: "arn:aws:kms:us-east-1:1:key/1"}}
      - {deviceName: /dev/sdb, ebs: {volumeSize: 100, volumeType: io1, iops: 3000, kmsKey: {id: "1234"}}}
      tags: [{name: kubernetes.io/cluster/ocean-x7k2p, value: owned}, {name: team, value: sea}]
`

const machineSpec = `
  lifecycleHooks:
    preDrain: [{name: Alpha, owner: clusteroperator/etcd}, {name: Beta, owner: somebody}]
    preTerminate: [{name: Backup, owner: somebody}]
  taints: [{key: gpu, value: "yes", effect: NoSchedule}, {key: gpu, effect: NoExecute}]
  metadata:
    labels: {node-role.kubernetes.io/infra: "", node.cluster.x-k8s.io/pool: a}
    annotations: {node.cluster.x-k8s.io/note: b}
  providerSpec:
    value:` + provider

// plainMachine and plainSet have only what a cloud needs: most real sets are like that.
const plainMachine = `
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {name: worker-a-1, namespace: openshift-machine-api}
spec:
  providerSpec:
    value:` + provider

var plainSet = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata: {name: worker-a, namespace: openshift-machine-api}
spec:
  replicas: 2
  selector: {matchLabels: {machine.openshift.io/cluster-api-machineset: worker-a}}
  template:
    metadata: {labels: {machine.openshift.io/cluster-api-machineset: worker-a}}
    spec:
      providerSpec:
        value:` + strings.ReplaceAll(provider, "\n", "\n    ")

const fullMachine = `
apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata:
  name: worker-a-1
  namespace: openshift-machine-api
  uid: 6c0b9b0e-0000-4000-8000-000000000000
  generation: 3
  finalizers: [machine.machine.openshift.io]
  annotations:
    machine.openshift.io/exclude-node-draining: ""
    machine.openshift.io/instance-state: running
    note: mine
  labels:
    machine.openshift.io/cluster-api-cluster: ocean-x7k2p
    machine.openshift.io/cluster-api-machine-role: worker
    machine.openshift.io/cluster-api-machine-type: worker
    machine.openshift.io/cluster-api-machineset: worker-a
    machine.openshift.io/zone: us-east-1a
spec:
  authoritativeAPI: MachineAPI
  providerID: aws:///us-east-1a/i-0123456789abcdef0` + machineSpec

var fullSet = `
apiVersion: machine.openshift.io/v1beta1
kind: MachineSet
metadata:
  name: worker-a
  namespace: openshift-machine-api
  annotations:
    machine.openshift.io/cluster-api-autoscaler-node-group-min-size: "1"
    machine.openshift.io/cluster-api-autoscaler-node-group-max-size: "5"
    machine.openshift.io/vCPU: "4"
  labels: {machine.openshift.io/cluster-api-cluster: ocean-x7k2p}
spec:
  authoritativeAPI: MachineAPI
  replicas: 2
  minReadySeconds: 5
  deletePolicy: Oldest
  selector:
    matchLabels:
      machine.openshift.io/cluster-api-cluster: ocean-x7k2p
      machine.openshift.io/cluster-api-machineset: worker-a
    matchExpressions: [{key: team, operator: NotIn, values: [land, air]}]
  template:
    metadata:
      annotations: {machine.openshift.io/delete-machine: "yes"}
      labels:
        machine.openshift.io/cluster-api-cluster: ocean-x7k2p
        machine.openshift.io/cluster-api-machine-role: worker
        machine.openshift.io/cluster-api-machine-type: worker
        machine.openshift.io/cluster-api-machineset: worker-a
    spec:
      authoritativeAPI: MachineAPI` + strings.ReplaceAll(machineSpec, "\n", "\n    ")

func TestNegativeMinReadySecondsCannotGo(t *testing.T) {
	for seconds, refused := range map[int64]bool{-1: true, 0: false, 1: false} {
		m := object(t, fullSet)
		if err := unstructured.SetNestedField(m.Object, seconds, "spec", "minReadySeconds"); err != nil {
			t.Fatal(err)
		}
		_, errs := core.ToClusterAPI("MachineSet", m, env())
		if got := len(errs) == 1 && errs[0].Field == "spec.minReadySeconds"; got != refused || !refused && len(errs) > 0 {
			t.Errorf("%d: %v", seconds, errs)
		}
	}
}
