// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheretest

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	vspherev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/vsphere"
)

const server = "vcenter.example.com"

// Kit returns the kit of a cluster on vSphere, in a vCenter with one datacenter and one compute cluster.
func Kit() conversiontest.Kit {
	return conversiontest.Kit{
		Platform:       vsphere.Platform(),
		Infrastructure: infrastructure(),
		InfraCluster: map[string]any{
			"server":               server,
			"controlPlaneEndpoint": map[string]any{"host": "api-int.lock.example.com", "port": int64(6443)},
			"identityRef":          map[string]any{"kind": "Secret", "name": "vsphere-cloud-credentials"},
		},
		ProviderSpec:    providerSpec(),
		AnyProviderSpec: anyProviderSpec, AnyInfraSpec: anyInfraSpec,
		ProviderID: ProviderID,
		Manifests:  conversiontest.Manifests{Module: "sigs.k8s.io/cluster-api-provider-vsphere", Dir: "config/default", Name: "vsphere", Version: "v1.15.2"},
		Actuator: conversiontest.Actuator{
			Needs: "template", Image: "template", ID: "instanceId", State: "instanceState",
			Words: []string{"poweredOff", "poweredOn", "poweredOff", "poweredOff", "poweredOff"},
		},
		Controller: conversiontest.Controller{
			Account: "default", Image: "template", Ready: "VMProvisioned", Answers: conversiontest.ByNewCondition, HoldsFirst: true,
			KeptID: "spec.biosUUID", KeptSpec: conversiontest.Copied(nil, "template", "network", "server", "datacenter", "folder"),
		},
	}
}

// ProviderID returns the provider ID of the virtual machine called name. The provider ID contains the BIOS UUID.
func ProviderID(name string) string {
	id := sha256.Sum256([]byte(name))
	return fmt.Sprintf("vsphere://42%x-%x-%x-%x-%x", id[1:4], id[4:6], id[6:8], id[8:10], id[10:16])
}

func infrastructure() map[string]any {
	addresses := func() map[string]any {
		return map[string]any{
			"apiServerInternalIPs": []any{"10.0.0.5"}, "ingressIPs": []any{"10.0.0.6"}, "machineNetworks": []any{"10.0.0.0/16"},
		}
	}
	spec, status := addresses(), addresses()
	spec["vcenters"] = []any{map[string]any{"server": server, "port": int64(443), "datacenters": []any{"dc1"}}}
	spec["nodeNetworking"] = map[string]any{"external": map[string]any{}, "internal": map[string]any{}}
	spec["failureDomains"] = []any{map[string]any{
		"name": "generated-failure-domain", "region": "generated-region", "zone": "generated-zone", "server": server,
		"topology": map[string]any{
			"datacenter": "dc1", "computeCluster": "/dc1/host/cluster1", "datastore": "/dc1/datastore/ds1", "networks": []any{"VM Network"},
			"resourcePool": "/dc1/host/cluster1/Resources", "folder": "/dc1/vm/lock-7x2k9",
			"template": "/dc1/vm/lock-7x2k9/lock-7x2k9-rhcos-generated-region-generated-zone",
		},
	}}
	status["apiServerInternalIP"], status["ingressIP"] = "10.0.0.5", "10.0.0.6"
	status["loadBalancer"] = map[string]any{"type": "OpenShiftManagedDefault"}
	return map[string]any{
		"spec": map[string]any{
			"cloudConfig":  map[string]any{"name": "cloud-provider-config", "key": "config"},
			"platformSpec": map[string]any{"type": "VSphere", "vsphere": spec},
		},
		"status": map[string]any{
			"infrastructureName": "lock-7x2k9", "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable",
			"apiServerURL": "https://api.lock.example.com:6443", "apiServerInternalURI": "https://api-int.lock.example.com:6443",
			"etcdDiscoveryDomain": "", "platform": "VSphere",
			"platformStatus": map[string]any{"type": "VSphere", "vsphere": status},
		},
	}
}

func providerSpec() map[string]any {
	return map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "VSphereMachineProviderSpec",
		"template": "lock-7x2k9-rhcos-generated-region-generated-zone", "snapshot": "",
		"numCPUs": int64(4), "numCoresPerSocket": int64(4), "memoryMiB": int64(16384), "diskGiB": int64(120),
		"credentialsSecret": map[string]any{"name": "vsphere-cloud-credentials"},
		"userDataSecret":    map[string]any{"name": "worker-user-data"},
		"network":           map[string]any{"devices": []any{map[string]any{"networkName": "VM Network"}}},
		"workspace": map[string]any{
			"server": server, "datacenter": "dc1", "datastore": "/dc1/datastore/ds1", "folder": "/dc1/vm/lock-7x2k9", "resourcePool": "/dc1/host/cluster1/Resources",
		},
	}
}

// anyProviderSpec returns a random providerSpec that also converts in a template: it has no static addresses and no address pools.
func anyProviderSpec(r *rand.Rand) any {
	m := conversiontest.Trip[machinev1beta1.VSphereMachineProviderSpec, vspherev1.VSphereMachineSpec]{
		Lines: vsphere.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI }, Values: ProviderValues(), Repair: RepairProvider,
	}.Tame(r)
	m.TypeMeta.APIVersion, m.TypeMeta.Kind = machinev1beta1.GroupVersion.String(), "VSphereMachineProviderSpec"
	for i := range m.Network.Devices {
		m.Network.Devices[i].IPAddrs, m.Network.Devices[i].AddressesFromPools = nil, nil
	}
	return m
}

// anyInfraSpec returns a random spec that also converts in a template: it has no static addresses, no address pools and no instance.
func anyInfraSpec(r *rand.Rand) any {
	c := conversiontest.Trip[vspherev1.VSphereMachineSpec, machinev1beta1.VSphereMachineProviderSpec]{
		Lines: vsphere.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI }, Values: InfraValues(), Repair: RepairInfra,
	}.Tame(r)
	c.ProviderID = nil
	for i := range c.Network.Devices {
		c.Network.Devices[i].IPAddrs, c.Network.Devices[i].AddressesFromPools = nil, nil
		repairDevice(&c.Network.Devices[i])
	}
	return c
}
