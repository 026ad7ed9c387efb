// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervstest

import (
	"math/rand/v2"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/powervs"
)

// Workspace is the ID of the cluster's workspace, and WorkspaceName is its name. The kit's IBMPowerVSCluster refers to the workspace by name.
const (
	Workspace     = "7c8ae25e-4dd1-4a5c-9a1b-3f2d5c1f7b10"
	WorkspaceName = "lock-7x2k9-power-iaas"
)

// Kit returns the kit of a cluster on Power Virtual Server, in the zone dal10 of Dallas.
func Kit() conversiontest.Kit {
	return conversiontest.Kit{
		Platform: powervs.Platform(),
		Infrastructure: map[string]any{
			"spec": map[string]any{"platformSpec": map[string]any{"type": "PowerVS", "powervs": map[string]any{}}},
			"status": map[string]any{
				"infrastructureName": "lock-7x2k9", "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable",
				"apiServerURL": "https://api.lock.example.com:6443", "apiServerInternalURI": "https://api-int.lock.example.com:6443",
				"etcdDiscoveryDomain": "", "platform": "PowerVS",
				"platformStatus": map[string]any{"type": "PowerVS", "powervs": map[string]any{"region": "dal", "zone": "dal10", "resourceGroup": "lock"}},
			},
		},
		InfraCluster: map[string]any{
			"serviceInstanceID":    "",
			"serviceInstance":      map[string]any{"name": WorkspaceName},
			"zone":                 "dal10",
			"resourceGroup":        map[string]any{"name": "lock"},
			"network":              map[string]any{"regex": "^DHCPSERVER.*lock-7x2k9.*_Private$"},
			"vpc":                  map[string]any{"name": "vpc-lock-7x2k9", "region": "us-south"},
			"transitGateway":       map[string]any{"name": "lock-7x2k9-tg"},
			"cosInstance":          map[string]any{"name": "lock-7x2k9-cos", "bucketName": "lock-7x2k9-bootstrap-ign", "bucketRegion": "us-south"},
			"ignition":             map[string]any{"version": "3.4"},
			"controlPlaneEndpoint": map[string]any{"host": "api-int.lock.example.com", "port": int64(6443)},
			"loadBalancers": []any{
				map[string]any{"name": "lock-7x2k9-loadbalancer", "public": true},
				map[string]any{"name": "lock-7x2k9-loadbalancer-int", "public": false},
			},
		},
		ProviderSpec:    providerSpec(),
		AnyProviderSpec: anyProviderSpec, AnyInfraSpec: anyInfraSpec,
		ProviderID: func(name string) string { return "ibmpowervs://dal/dal10/" + Workspace + "/" + name },
		Master: map[string]any{"loadBalancers": []any{
			map[string]any{"name": "lock-7x2k9-loadbalancer", "type": "Application"}, map[string]any{"name": "lock-7x2k9-loadbalancer-int", "type": "Application"},
		}},
		Actuator: conversiontest.Actuator{
			Needs: "image.type", Type: "systemType", Image: "image.name", ID: "instanceId", State: "instanceState",
			Words: []string{"BUILD", "ACTIVE", "SHUTOFF", "SHUTOFF", "SHUTOFF"},
		},
		Controller: conversiontest.Controller{
			Account: "capi-ibmcloud-manager", Size: "systemType", Image: "image.name",
			ID: "status.instanceID", State: "status.instanceState", Ready: "InstanceReady", Answers: conversiontest.ByNewCondition, HoldsFirst: true,
		},
	}
}

func providerSpec() map[string]any {
	return map[string]any{
		"apiVersion": "machine.openshift.io/v1", "kind": "PowerVSMachineProviderConfig",
		"userDataSecret":    map[string]any{"name": "worker-user-data"},
		"credentialsSecret": map[string]any{"name": "powervs-credentials"},
		"serviceInstance":   map[string]any{"type": "Name", "name": WorkspaceName},
		"image":             map[string]any{"type": "Name", "name": "rhcos-lock-7x2k9"},
		"network":           map[string]any{"type": "RegEx", "regex": "^DHCPSERVER.*lock-7x2k9.*_Private$"},
		"keyPairName":       "lock-7x2k9-key",
		"systemType":        "s922", "processorType": "Shared", "processors": "0.5", "memoryGiB": int64(32),
	}
}

// anyProviderSpec returns a random providerSpec that converts. It is for a worker, so it has no load balancers.
func anyProviderSpec(r *rand.Rand) any {
	m := conversiontest.Trip[machinev1.PowerVSMachineProviderConfig, powervs.MachineSpec]{
		Lines: powervs.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI }, Values: ProviderValues(), Repair: RepairProvider,
	}.Tame(r)
	m.APIVersion, m.Kind = machinev1.GroupVersion.String(), "PowerVSMachineProviderConfig"
	m.LoadBalancers = nil
	return m
}

func anyInfraSpec(r *rand.Rand) any {
	c := conversiontest.Trip[powervs.MachineSpec, machinev1.PowerVSMachineProviderConfig]{
		Lines: powervs.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI }, Values: InfraValues(), Repair: RepairInfra,
	}.Tame(r)
	c.ProviderID = nil
	return c
}
