// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azuretest

import (
	"math/rand/v2"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/azure"
	"github.com/poundlock/poundlock/conversion/conversiontest"
)

const (
	subscription = "/subscriptions/5f3d1c2e-9b0a-4a7e-8c55-0d2f6a1b7e44"
	groupID      = subscription + "/resourceGroups/lock-7x2k9-rg"
	imageID      = "/resourceGroups/lock-7x2k9-rg/providers/Microsoft.Compute/galleries/gallery_lock_7x2k9/images/lock-7x2k9-gen2/versions/latest"
	identityID   = "/resourceGroups/lock-7x2k9-rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/lock-7x2k9-identity"
	keySet       = groupID + "/providers/Microsoft.Compute/diskEncryptionSets/lock"
	reservation  = groupID + "/providers/Microsoft.Compute/capacityReservationGroups/lock"
	workerSubnet = "lock-7x2k9-worker-subnet"
	// Instance is the provider ID of a virtual machine in the kit's cluster.
	Instance = "azure://" + groupID + "/providers/Microsoft.Compute/virtualMachines/lock-7x2k9-worker-westeurope1-x2mzp"
)

// Kit returns the kit of a cluster on Azure, in westeurope, with a private API server.
func Kit() conversiontest.Kit {
	return conversiontest.Kit{
		Platform: azure.Platform(),
		Infrastructure: map[string]any{
			"spec": map[string]any{"platformSpec": map[string]any{"type": "Azure", "azure": map[string]any{}}},
			"status": map[string]any{
				"infrastructureName": "lock-7x2k9", "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable",
				"apiServerURL": "https://api.lock.example.com:6443", "apiServerInternalURI": "https://api-int.lock.example.com:6443",
				"etcdDiscoveryDomain": "", "platform": "Azure",
				"platformStatus": map[string]any{"type": "Azure", "azure": map[string]any{
					"resourceGroupName": "lock-7x2k9-rg", "networkResourceGroupName": "lock-7x2k9-rg", "cloudName": "AzurePublicCloud",
					"resourceTags": []any{map[string]any{"key": "team", "value": "locks"}},
				}},
			},
		},
		InfraCluster:    infraCluster(),
		ProviderSpec:    providerSpec(),
		AnyProviderSpec: anyProviderSpec, AnyInfraSpec: anyInfraSpec,
		ProviderID: func(name string) string {
			return "azure://" + groupID + "/providers/Microsoft.Compute/virtualMachines/" + name
		},
		Master:    map[string]any{"subnet": "lock-7x2k9-master-subnet", "internalLoadBalancer": "lock-7x2k9-internal"},
		Zones:     []string{`"zone":"1"`, `"zone":"2"`, `"zone":"3"`},
		Manifests: conversiontest.Manifests{Module: "sigs.k8s.io/cluster-api-provider-azure", Dir: "config/capz", Name: "azure", Version: "v1.26.0"},
		Actuator: conversiontest.Actuator{
			Needs: "vmSize", Type: "vmSize", Zone: "zone", Image: "image.resourceID", ID: "vmId", State: "vmState",
			Words: []string{"Creating", "Succeeded", "Updating", "Deleting", "Deleted"},
		},
		Controller: conversiontest.Controller{
			Account: "capz-manager", Size: "vmSize", Image: "image.id",
			State: "status.vmState", Ready: "VMRunning", Answers: conversiontest.ByBlockMove,
		},
	}
}

func infraCluster() map[string]any {
	balancer := func(name, kind string) map[string]any {
		return map[string]any{"name": name, "type": kind, "sku": "Standard", "backendPool": map[string]any{"name": name}}
	}
	subnet := func(name, role string) map[string]any {
		return map[string]any{"name": name, "role": role, "securityGroup": map[string]any{"name": "lock-7x2k9-nsg"}}
	}
	return map[string]any{
		"subscriptionID": subscription[len("/subscriptions/"):], "location": "westeurope", "resourceGroup": "lock-7x2k9-rg",
		"azureEnvironment": "AzurePublicCloud",
		"identityRef": map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AzureClusterIdentity",
			"name": "lock-7x2k9", "namespace": "openshift-cluster-api"},
		"controlPlaneEndpoint": map[string]any{"host": "api-int.lock.example.com", "port": int64(6443)},
		"additionalTags":       map[string]any{"team": "locks"},
		"networkSpec": map[string]any{
			"vnet":                   map[string]any{"name": "lock-7x2k9-vnet", "resourceGroup": "lock-7x2k9-rg"},
			"subnets":                []any{subnet("lock-7x2k9-master-subnet", "control-plane"), subnet(workerSubnet, "node")},
			"apiServerLB":            balancer("lock-7x2k9-internal", "Internal"),
			"controlPlaneOutboundLB": balancer("lock-7x2k9", "Public"),
			"nodeOutboundLB":         balancer("lock-7x2k9", "Public"),
		},
	}
}

// providerSpec returns a worker's providerSpec in the form in which Machine API's webhook stores it. That form also has the fields that the Go type writes
// even if they are empty.
func providerSpec() map[string]any {
	return map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "AzureMachineProviderSpec", "metadata": map[string]any{"creationTimestamp": nil},
		"credentialsSecret": map[string]any{"name": "azure-cloud-credentials", "namespace": "openshift-machine-api"},
		"userDataSecret":    map[string]any{"name": "worker-user-data"},
		"location":          "westeurope", "zone": "1", "vmSize": "Standard_D4s_v3",
		"image": map[string]any{"publisher": "", "offer": "", "sku": "", "version": "", "resourceID": imageID},
		"osDisk": map[string]any{
			"osType": "Linux", "diskSizeGB": int64(128), "diskSettings": map[string]any{},
			"managedDisk": map[string]any{"storageAccountType": "Premium_LRS", "securityProfile": map[string]any{"diskEncryptionSet": map[string]any{}}},
		},
		"managedIdentity": "lock-7x2k9-identity", "resourceGroup": "lock-7x2k9-rg", "networkResourceGroup": "lock-7x2k9-rg",
		"vnet": "lock-7x2k9-vnet", "subnet": workerSubnet, "publicLoadBalancer": "lock-7x2k9",
		"publicIP": false, "acceleratedNetworking": true, "diagnostics": map[string]any{},
	}
}

// anyProviderSpec returns a random providerSpec of a worker that converts in a Machine and in a MachineSet. If it has no zone, it is for spot machines,
// because the providerSpec of a MachineSet without a zone converts only then.
func anyProviderSpec(r *rand.Rand) any {
	m := conversiontest.Trip[machinev1beta1.AzureMachineProviderSpec, azurev1.AzureMachineSpec]{
		Lines: azure.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI }, Values: ProviderValues(), Repair: RepairProvider,
	}.Tame(r)
	m.TypeMeta.APIVersion, m.TypeMeta.Kind = machinev1beta1.GroupVersion.String(), "AzureMachineProviderSpec"
	if m.Zone == "" && m.SpotVMOptions == nil {
		m.Zone = "2"
	}
	return m
}

func anyInfraSpec(r *rand.Rand) any {
	return conversiontest.Trip[azurev1.AzureMachineSpec, machinev1beta1.AzureMachineProviderSpec]{
		Lines: azure.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI }, Values: InfraValues(), Repair: RepairInfra,
	}.Tame(r)
}
