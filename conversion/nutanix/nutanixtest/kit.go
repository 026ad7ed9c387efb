// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanixtest

import (
	"math/rand/v2"

	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/nutanix"
)

// Element and Subnet are the UUIDs of the cluster's Prism Element and of its subnet.
const (
	Element = "0005b6f1-8f43-a0f2-02b7-3cecef193712"
	Subnet  = "c7938dc6-7659-453e-a688-e26020c68e43"
)

// Kit returns the kit of a cluster on one Prism Element of a Prism Central.
func Kit() conversiontest.Kit {
	central := map[string]any{"address": "prism.example.com", "port": int64(9440)}
	return conversiontest.Kit{
		Platform: nutanix.Platform(),
		Infrastructure: map[string]any{
			"spec": map[string]any{"platformSpec": map[string]any{"type": "Nutanix", "nutanix": map[string]any{
				"prismCentral":  central,
				"prismElements": []any{map[string]any{"name": "element-1", "endpoint": map[string]any{"address": "element.example.com", "port": int64(9440)}}},
			}}},
			"status": map[string]any{
				"infrastructureName": "lock-7x2k9", "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable",
				"apiServerURL": "https://api.lock.example.com:6443", "apiServerInternalURI": "https://api-int.lock.example.com:6443",
				"etcdDiscoveryDomain": "", "platform": "Nutanix",
				"platformStatus": map[string]any{"type": "Nutanix", "nutanix": map[string]any{
					"apiServerInternalIPs": []any{"10.0.0.5"}, "ingressIPs": []any{"10.0.0.6"},
				}},
			},
		},
		InfraCluster: map[string]any{
			"controlPlaneEndpoint": map[string]any{"host": "api-int.lock.example.com", "port": int64(6443)},
			"prismCentral": map[string]any{"address": "prism.example.com", "port": int64(9440), "insecure": false,
				"credentialRef": map[string]any{"kind": "Secret", "name": "nutanix-credentials"}},
		},
		ProviderSpec:    providerSpec(),
		AnyProviderSpec: anyProviderSpec, AnyInfraSpec: anyInfraSpec,
		ProviderID: func(name string) string { return "nutanix://" + name },
		Actuator: conversiontest.Actuator{
			Needs: "image.type", Image: "image.name", ID: "vmUUID",
		},
		Controller: conversiontest.Controller{
			Account: "capx-controller-manager", Image: "image.name", ID: "status.vmUUID", Ready: "VMProvisioned", Answers: conversiontest.InSilence,
			Finalizer: "infrastructure.cluster.x-k8s.io/nutanixmachine",
		},
	}
}

func providerSpec() map[string]any {
	return map[string]any{
		"apiVersion": "machine.openshift.io/v1", "kind": "NutanixMachineProviderConfig",
		"userDataSecret":    map[string]any{"name": "worker-user-data"},
		"credentialsSecret": map[string]any{"name": "nutanix-credentials"},
		"cluster":           map[string]any{"type": "uuid", "uuid": Element},
		"image":             map[string]any{"type": "name", "name": "lock-7x2k9-rhcos"},
		"subnets":           []any{map[string]any{"type": "uuid", "uuid": Subnet}},
		"vcpusPerSocket":    int64(1), "vcpuSockets": int64(4), "memorySize": "16Gi", "systemDiskSize": "120Gi", "bootType": "Legacy",
		"categories": []any{map[string]any{"key": "kubernetes-io-cluster-lock-7x2k9", "value": "owned"}},
	}
}

func anyProviderSpec(r *rand.Rand) any {
	m := conversiontest.Trip[machinev1.NutanixMachineProviderConfig, nutanix.MachineSpec]{
		Lines: nutanix.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI }, Values: ProviderValues(), Repair: RepairProvider,
	}.Tame(r)
	m.APIVersion, m.Kind = machinev1.GroupVersion.String(), "NutanixMachineProviderConfig"
	m.FailureDomain = nil // a new VM needs a listed failure domain, and the kit's NutanixCluster lists none
	return m
}

func anyInfraSpec(r *rand.Rand) any {
	c := conversiontest.Trip[nutanix.MachineSpec, machinev1.NutanixMachineProviderConfig]{
		Lines: nutanix.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI }, Values: InfraValues(), Repair: RepairInfra,
	}.Tame(r)
	c.ProviderID, c.BootstrapRef = "", nil
	return c
}
