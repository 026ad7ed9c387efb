// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcptest

import (
	"math/rand/v2"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/gcp"
)

// These are the values of the kit's cluster.
const (
	Cluster = "lock-7x2k9"
	Project = "lock-project"
	Region  = "us-central1"
	Zone    = "us-central1-a"
	Network = Cluster + "-network"
)

// Kit returns the kit of a cluster on Google Cloud, in us-central1.
func Kit() conversiontest.Kit {
	return conversiontest.Kit{
		Platform: gcp.Platform(),
		Infrastructure: map[string]any{
			"spec": map[string]any{"platformSpec": map[string]any{"type": "GCP", "gcp": map[string]any{}}},
			"status": map[string]any{
				"infrastructureName": Cluster, "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable",
				"apiServerURL": "https://api.lock.example.com:6443", "apiServerInternalURI": "https://api-int.lock.example.com:6443",
				"etcdDiscoveryDomain": "", "platform": "GCP",
				"platformStatus": map[string]any{"type": "GCP", "gcp": map[string]any{
					"projectID": Project, "region": Region, "cloudLoadBalancerConfig": map[string]any{"dnsType": "PlatformDefault"},
				}},
			},
		},
		InfraCluster: map[string]any{
			"project": Project, "region": Region,
			"controlPlaneEndpoint": map[string]any{"host": "api-int.lock.example.com", "port": int64(6443)},
			"network":              map[string]any{"name": Network},
			"additionalLabels":     map[string]any{"kubernetes-io-cluster-" + Cluster: "owned"},
			"loadBalancer":         map[string]any{"apiServerInstanceGroupTagOverride": "master", "loadBalancerType": "InternalExternal"},
		},
		ProviderSpec:    providerSpec(),
		AnyProviderSpec: anyProviderSpec, AnyInfraSpec: anyInfraSpec,
		ProviderID: ProviderID, ProviderIDIn: providerIDIn,
		Zones:     []string{Zone, Region + "-b", Region + "-f"},
		Manifests: conversiontest.Manifests{Module: "sigs.k8s.io/cluster-api-provider-gcp", Dir: "config/default", Name: "gcp", Version: "v1.13.1"},
		Actuator: conversiontest.Actuator{
			Needs: "machineType", Type: "machineType", Zone: "zone", ID: "instanceId", State: "instanceState",
			Words: []string{"PROVISIONING", "RUNNING", "STOPPED", "STOPPING", "TERMINATED"},
		},
		Controller: conversiontest.Controller{
			Account: "capg-manager", Size: "instanceType", Image: "image", Zone: Zone,
			State: "status.instanceState", Answers: conversiontest.InSilence,
		},
	}
}

// ProviderID returns the provider ID of an instance in Zone.
func ProviderID(name string) string { return providerIDIn(Zone, name) }

func providerIDIn(zone, name string) string { return "gce://" + Project + "/" + zone + "/" + name }

func providerSpec() map[string]any {
	return map[string]any{
		"apiVersion": "machine.openshift.io/v1beta1", "kind": "GCPMachineProviderSpec", "metadata": map[string]any{"creationTimestamp": nil},
		"canIPForward": false, "deletionProtection": false,
		"credentialsSecret": map[string]any{"name": "gcp-cloud-credentials"},
		"userDataSecret":    map[string]any{"name": "worker-user-data"},
		"disks": []any{map[string]any{
			"autoDelete": true, "boot": true, "labels": nil, "sizeGb": int64(128), "type": "pd-ssd",
			"image": "projects/rhcos-cloud/global/images/rhcos-9-6-20250701-0-gcp-x86-64",
		}},
		"labels":            map[string]any{"kubernetes-io-cluster-" + Cluster: "owned"},
		"machineType":       "n2-standard-4",
		"networkInterfaces": []any{map[string]any{"network": Network, "subnetwork": Cluster + "-worker-subnet"}},
		"serviceAccounts": []any{map[string]any{
			"email": Cluster + "-w@" + Project + ".iam.gserviceaccount.com", "scopes": []any{"https://www.googleapis.com/auth/cloud-platform"},
		}},
		"tags": []any{Cluster + "-worker"}, "shieldedInstanceConfig": map[string]any{},
		"projectID": Project, "region": Region, "zone": Zone,
	}
}

func anyProviderSpec(r *rand.Rand) any {
	m := conversiontest.Trip[machinev1beta1.GCPMachineProviderSpec, gcpv1.GCPMachineSpec]{
		Lines: gcp.Fields.Lines(), Own: func(l conversion.Line) []string { return l.MachineAPI }, Values: ProviderValues(), Repair: RepairProvider,
	}.Tame(r)
	m.TypeMeta.APIVersion, m.TypeMeta.Kind = machinev1beta1.GroupVersion.String(), "GCPMachineProviderSpec"
	return m
}

func anyInfraSpec(r *rand.Rand) any {
	return conversiontest.Trip[gcpv1.GCPMachineSpec, machinev1beta1.GCPMachineProviderSpec]{
		Lines: gcp.Fields.Lines(), Own: func(l conversion.Line) []string { return l.ClusterAPI }, Values: InfraValues(), Repair: RepairInfra,
	}.Tame(r)
}
