// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package openstacktest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	openstackv1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/openstack"
)

const (
	clusterTag = "openshiftClusterID=lock-7x2k9"
	nodes      = "lock-7x2k9-nodes"
)

// Kit returns the kit of a cluster on OpenStack, whose nodes are in one subnet.
func Kit() conversiontest.Kit {
	return conversiontest.Kit{
		Platform: openstack.Platform(),
		Infrastructure: map[string]any{
			"spec": map[string]any{"platformSpec": map[string]any{"type": "OpenStack", "openstack": map[string]any{
				"apiServerInternalIPs": []any{"10.0.0.5"}, "ingressIPs": []any{"10.0.0.7"}, "machineNetworks": []any{"10.0.0.0/16"},
			}}},
			"status": map[string]any{
				"infrastructureName": "lock-7x2k9", "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable",
				"apiServerURL": "https://api.lock.example.com:6443", "apiServerInternalURI": "https://api-int.lock.example.com:6443",
				"etcdDiscoveryDomain": "", "platform": "OpenStack",
				"platformStatus": map[string]any{"type": "OpenStack", "openstack": map[string]any{
					"cloudName": "openstack", "apiServerInternalIP": "10.0.0.5", "apiServerInternalIPs": []any{"10.0.0.5"},
					"ingressIP": "10.0.0.7", "ingressIPs": []any{"10.0.0.7"}, "machineNetworks": []any{"10.0.0.0/16"},
					"loadBalancer": map[string]any{"type": "OpenShiftManagedDefault"},
				}},
			},
		},
		InfraCluster: map[string]any{
			"identityRef":                map[string]any{"type": "Secret", "name": "openstack-cloud-credentials", "cloudName": "openstack"},
			"network":                    map[string]any{"filter": map[string]any{"name": "lock-7x2k9-openshift", "tags": []any{clusterTag}}},
			"subnets":                    []any{map[string]any{"filter": map[string]any{"name": nodes, "tags": []any{clusterTag}}}},
			"disableAPIServerFloatingIP": true,
			"controlPlaneEndpoint":       map[string]any{"host": "api-int.lock.example.com", "port": int64(6443)},
			"tags":                       []any{clusterTag},
		},
		ProviderSpec:    providerSpec(),
		AnyProviderSpec: anyProviderSpec, AnyInfraSpec: anyInfraSpec,
		ProviderID: func(name string) string { return "openstack:///" + idOf(name) },
		Manifests:  conversiontest.Manifests{Module: "sigs.k8s.io/cluster-api-provider-openstack", Dir: "config/default", Name: "openstack", Version: "v0.14.6"},
		Actuator: conversiontest.Actuator{
			Needs: "flavor", Type: "flavor", Zone: "availabilityZone", Image: "image", ID: "instanceId", State: "instanceState",
			Words: []string{"BUILD", "ACTIVE", "SHUTOFF", "DELETED", "DELETED"},
		},
		Controller: conversiontest.Controller{
			Account: "capo-manager", Size: "flavor", Image: "image.filter.name",
			ID: "status.instanceID", State: "status.instanceState", Ready: "InstanceReady", Answers: conversiontest.InSilence,
			KeptID: "status.instanceID", KeptSpec: conversiontest.Copied(map[string]any{
				"identityRef": map[string]any{"type": "Secret", "name": "openstack-cloud-credentials", "cloudName": "openstack"}, "ports": []any{}, "sshKeyName": "",
			}, "flavor", "flavorID", "image", "sshKeyName", "identityRef"),
		},
	}
}

func providerSpec() map[string]any {
	return map[string]any{
		"apiVersion": "machine.openshift.io/v1alpha1", "kind": "OpenstackProviderSpec",
		"cloudName":      "openstack",
		"cloudsSecret":   map[string]any{"name": "openstack-cloud-credentials", "namespace": "openshift-machine-api"},
		"userDataSecret": map[string]any{"name": "worker-user-data"},
		"flavor":         "m1.xlarge", "image": "lock-7x2k9-rhcos", "availabilityZone": "nova", "trunk": true,
		"networks": []any{map[string]any{
			"filter":  map[string]any{},
			"subnets": []any{map[string]any{"filter": map[string]any{"name": nodes, "tags": clusterTag}}},
		}},
		"securityGroups":  []any{map[string]any{"filter": map[string]any{}, "name": "lock-7x2k9-worker"}},
		"serverGroupName": "lock-7x2k9-worker",
		"serverMetadata":  map[string]any{"Name": "lock-7x2k9-worker", "openshiftClusterID": "lock-7x2k9"},
		"tags":            []any{clusterTag},
	}
}

func anyProviderSpec(r *rand.Rand) any {
	m := conversiontest.Trip[machinev1alpha1.OpenstackProviderSpec, openstackv1.OpenStackMachineSpec]{
		Lines: openstack.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI }, Values: ProviderValues(), Repair: RepairProvider,
	}.Tame(r)
	m.APIVersion, m.Kind = machinev1alpha1.GroupVersion.String(), "OpenstackProviderSpec"
	return m
}

func anyInfraSpec(r *rand.Rand) any {
	return conversiontest.Trip[openstackv1.OpenStackMachineSpec, machinev1alpha1.OpenstackProviderSpec]{
		Lines: openstack.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI }, Values: InfraValues(), Repair: RepairInfra,
	}.Tame(r)
}

// idOf returns a UUID that depends only on the name.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return randomID(rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))))
}

func randomID(r *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12), r.IntN(1<<12), r.Uint64N(1<<48))
}
