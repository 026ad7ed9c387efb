// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies/authority"
)

// surroundings returns the objects of the cluster that a conversion reads.
func surroundings(namespace string) []client.Object {
	return []client.Object{
		object(`{apiVersion: config.openshift.io/v1, kind: Infrastructure, metadata: {name: cluster},
			spec: {platformSpec: {type: AWS, aws: {}}},
			status: {infrastructureName: bench-1, controlPlaneTopology: HighlyAvailable, infrastructureTopology: HighlyAvailable,
			  apiServerURL: "https://api.example.com:6443", apiServerInternalURI: "https://api-int.example.com:6443", etcdDiscoveryDomain: "",
			  platform: AWS, platformStatus: {type: AWS, aws: {region: us-east-1}}}}`),
		object(fmt.Sprintf(`{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSCluster,
			metadata: {name: bench-1, namespace: %s-twins}, spec: {region: us-east-1}}`,
			namespace)),
		object(fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: bench-1, namespace: %s-twins},
			spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSCluster, name: bench-1}}}`, namespace)),
	}
}

func machine(namespace string, i int) *unstructured.Unstructured {
	return object(fmt.Sprintf(`{apiVersion: machine.openshift.io/v1beta1, kind: Machine,
		metadata: {name: m-%05d, namespace: %s, finalizers: [%s],
		  labels: {machine.openshift.io/cluster-api-cluster: bench-1,
		  machine.openshift.io/cluster-api-machine-role: worker, machine.openshift.io/cluster-api-machine-type: worker}},
		spec: {authoritativeAPI: MachineAPI, providerID: "aws:///us-east-1a/i-%017d", providerSpec: {value: {
		  apiVersion: machine.openshift.io/v1beta1, kind: AWSMachineProviderConfig, ami: {id: ami-0f3c7d07486cad139}, instanceType: m6i.large,
		  iamInstanceProfile: {id: bench-1-worker-profile}, credentialsSecret: {name: aws-cloud-credentials},
		  userDataSecret: {name: worker-user-data}, deviceIndex: 0,
		  placement: {region: us-east-1, availabilityZone: us-east-1a}, subnet: {filters: [{name: "tag:Name", values: [bench-1-subnet-private-us-east-1a]}]},
		  securityGroups: [{filters: [{name: "tag:Name", values: [bench-1-node]}]}, {filters: [{name: "tag:Name", values: [bench-1-lb]}]}],
		  blockDevices: [{ebs: {encrypted: true, volumeSize: 120, volumeType: gp3}}], tags: [{name: kubernetes.io/cluster/bench-1, value: owned}]}}}}`,
		i, namespace, authority.SyncFinalizer, i))
}

func mirror(namespace string, i int) *unstructured.Unstructured {
	return object(fmt.Sprintf(`{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine,
		metadata: {name: m-%05d, namespace: %s, annotations: {%s: ""}, finalizers: [%s]},
		spec: {clusterName: bench-1, bootstrap: {dataSecretName: worker-user-data},
		  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachine, name: m-%05d}}}`,
		i, namespace, authority.PausedAnnotation, authority.SyncFinalizer, i))
}

// object reads a manifest in flow style from this file.
func object(text string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(fmt.Sprintf("%v in\n%s", err, text)) // the text is our own
	}
	return o
}
