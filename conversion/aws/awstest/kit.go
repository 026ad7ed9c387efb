// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package awstest

import (
	"math/rand/v2"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/aws"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// Kit returns the kit of a cluster on AWS, in us-east-1.
func Kit() conversiontest.Kit {
	return conversiontest.Kit{
		Platform: aws.Platform(),
		Infrastructure: map[string]any{
			"spec": map[string]any{"platformSpec": map[string]any{"type": "AWS", "aws": map[string]any{}}},
			"status": map[string]any{
				"infrastructureName": "lock-7x2k9", "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable",
				"apiServerURL": "https://api.lock.example.com:6443", "apiServerInternalURI": "https://api-int.lock.example.com:6443",
				"etcdDiscoveryDomain": "", "platform": "AWS",
				"platformStatus": map[string]any{"type": "AWS", "aws": map[string]any{"region": "us-east-1"}},
			},
		},
		InfraCluster: map[string]any{
			"region":                            "us-east-1",
			"network":                           map[string]any{"subnets": []any{map[string]any{"id": publicSubnet, "isPublic": true}}},
			"controlPlaneEndpoint":              map[string]any{"host": "api-int.lock.example.com", "port": int64(6443)},
			"controlPlaneLoadBalancer":          map[string]any{"name": "lock-7x2k9-int", "scheme": "internal", "loadBalancerType": "nlb"},
			"secondaryControlPlaneLoadBalancer": map[string]any{"name": "lock-7x2k9-ext", "scheme": "internet-facing", "loadBalancerType": "nlb"},
		},
		ProviderSpec:    providerSpec(),
		AnyProviderSpec: anyProviderSpec, AnyInfraSpec: anyInfraSpec,
		ProviderID: func(name string) string { return "aws:///us-east-1a/" + name },
		Zones:      []string{"us-east-1a", "us-east-1b", "us-east-1c"},
		Manifests:  conversiontest.Manifests{Module: "sigs.k8s.io/cluster-api-provider-aws/v2", Dir: "config/default", Name: "aws", Version: "v2.13.0"},
		Controller: conversiontest.Controller{
			Account: "capa-controller-manager", Size: "instanceType", Image: "ami.id", Zone: "us-east-1a",
			ID: "spec.instanceID", State: "status.instanceState", Ready: "InstanceReady", Answers: conversiontest.ByCondition,
		},
	}
}

// publicSubnet is the subnet in which machines get public addresses. The kit's AWSCluster lists it. An AWSCluster that OpenShift creates lists no subnets.
const publicSubnet = "subnet-0a1b2c3d4e5f60718"

func providerSpec() map[string]any {
	named := func(name string) map[string]any {
		return map[string]any{"filters": []any{map[string]any{"name": "tag:Name", "values": []any{name}}}}
	}
	return map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "AWSMachineProviderConfig",
		"ami": map[string]any{"id": "ami-0f3c7d07486cad139"}, "instanceType": "m6i.large", "deviceIndex": int64(0),
		"iamInstanceProfile": map[string]any{"id": "lock-7x2k9-worker-profile"},
		"credentialsSecret":  map[string]any{"name": "aws-cloud-credentials"},
		"userDataSecret":     map[string]any{"name": "worker-user-data"},
		"placement":          map[string]any{"region": "us-east-1", "availabilityZone": "us-east-1a"},
		"subnet":             named("lock-7x2k9-subnet-private-us-east-1a"),
		"securityGroups":     []any{named("lock-7x2k9-node")},
		"blockDevices":       []any{map[string]any{"ebs": map[string]any{"encrypted": true, "volumeSize": int64(120), "volumeType": "gp3"}}},
		"tags":               []any{map[string]any{"name": "kubernetes.io/cluster/lock-7x2k9", "value": "owned"}},
	}
}

// anyProviderSpec returns a random providerSpec that converts. It is for a worker, so it has no load balancers.
func anyProviderSpec(r *rand.Rand) any {
	m := conversiontest.Trip[machinev1beta1.AWSMachineProviderConfig, awsv1.AWSMachineSpec]{
		Lines: aws.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI }, Values: ProviderValues(), Repair: RepairProvider,
	}.Tame(r)
	m.TypeMeta.APIVersion, m.TypeMeta.Kind = machinev1beta1.GroupVersion.String(), "AWSMachineProviderConfig"
	m.LoadBalancers = nil
	return m
}

func anyInfraSpec(r *rand.Rand) any {
	return conversiontest.Trip[awsv1.AWSMachineSpec, machinev1beta1.AWSMachineProviderConfig]{
		Lines: aws.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI }, Values: InfraValues(), Repair: RepairInfra,
	}.Tame(r)
}
