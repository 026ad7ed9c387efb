// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/unread"
)

// platform is what differs from one infrastructure platform to the next.
type platform struct {
	name configv1.PlatformType
	// kind is the providerSpec's, spec an empty one of its Go type.
	kind string
	spec func() any
	// domains reads the set's failure domains. nil: the platform has none.
	domains func(machinev1.FailureDomains, *configv1.Infrastructure) ([]Domain, field.ErrorList)
	// found reads them off a providerSpec, in a cluster whose control plane has those given. nil where domains is.
	found func(own []map[string]any, i *configv1.Infrastructure) finder
	// unordered are the lists of the providerSpec whose order means nothing.
	unordered []string
	// boot is the image that an instance starts from, as far as the Machine Config Operator writes it: "" for none. In a list it is the boot disk's.
	boot string
	// void are members that the platform does not read. For hollow ones, an empty object means the same as none.
	void, hollow []string
	// defaults are the values that the platform takes where nothing is given.
	defaults map[string]any
	// counting may be nil: it leaves what counts of members that say the same thing, and what does not go by the order, in one order.
	counting func(spec map[string]any)
	// respell may be nil: it spells in one way what a providerSpec may spell in several.
	respell func(spec map[string]any)
	// usual are the values that this cluster's machines have where nothing is given.
	usual map[string]any
	// added is what every machine of this cluster has, with or without a field in its providerSpec.
	added map[string]any
}

// platforms is the only list of them; a platform that is not in it is generic: no failure domains, no providerSpec that is known.
func platforms() []platform {
	return []platform{
		{
			name: configv1.AWSPlatformType, kind: "AWSMachineProviderConfig", boot: "ami", spec: func() any { return &machinev1beta1.AWSMachineProviderConfig{} },
			domains: awsDomains, found: awsFound, unordered: []string{"tags", "securityGroups", "loadBalancers", "placement.host.dedicatedHost.dynamicHostAllocation.tags"},
			void: []string{"blockDevices[].ebs.deleteOnTermination"}, hollow: []string{"cpuOptions"}, counting: awsSpelling, defaults: map[string]any{
				"credentialsSecret.name": "aws-cloud-credentials", "blockDevices[].ebs.iops": 0.0, "blockDevices[].ebs.throughputMib": 0.0,
				"placement.host.dedicatedHost.allocationStrategy": string(machinev1beta1.AllocationStrategyUserProvided),
			},
		},
		{
			name: configv1.AzurePlatformType, kind: "AzureMachineProviderSpec", boot: "image", spec: func() any { return &machinev1beta1.AzureMachineProviderSpec{} },
			domains: azureDomains, found: azureFound, unordered: []string{"applicationSecurityGroups", "dataDisks"},
			hollow: []string{"securityProfile"}, counting: azureSpelling, defaults: map[string]any{
				"credentialsSecret.name": "azure-cloud-credentials", "credentialsSecret.namespace": ownNamespace, "userDataSecret.namespace": ownNamespace,
				"osDisk.osType": "Linux", "osDisk.cachingType": "None", "dataDisks[].cachingType": "None", "dataDisks[].managedDisk.storageAccountType": string(machinev1beta1.StorageAccountPremiumLRS),
				"image.type": string(machinev1beta1.AzureImageTypeMarketplaceNoPlan),
			},
		},
		{
			name: configv1.GCPPlatformType, kind: "GCPMachineProviderSpec", boot: "disks[].image", spec: func() any { return &machinev1beta1.GCPMachineProviderSpec{} },
			domains: gcpDomains, found: gcpFound, unordered: []string{"tags", "targetPools", "resourceManagerTags"},
			counting: gcpSpelling, defaults: map[string]any{"credentialsSecret.name": "gcp-cloud-credentials", "disks[].type": "pd-standard"},
		},
		{
			name: configv1.OpenStackPlatformType, kind: "OpenstackProviderSpec", spec: func() any { return &machinev1alpha1.OpenstackProviderSpec{} },
			domains: openStackDomains, found: openStackFound, unordered: []string{"securityGroups", "tags"},
			void: unread.Members(string(configv1.OpenStackPlatformType)), hollow: []string{"additionalBlockDevices[].storage.volume"},
			counting: openStackReferences, respell: openStackGroups,
			defaults: map[string]any{"cloudsSecret.namespace": ownNamespace, "userDataSecret.namespace": ownNamespace},
		},
		{
			name: configv1.VSpherePlatformType, kind: "VSphereMachineProviderSpec", spec: func() any { return &machinev1beta1.VSphereMachineProviderSpec{} },
			domains: vSphereDomains, found: vSphereFound, unordered: []string{"tagIDs"},
			defaults: map[string]any{
				"credentialsSecret.name": "vsphere-cloud-credentials", "workspace.datacenter": "*", "cloneMode": string(machinev1beta1.FullClone),
			}, respell: bareTemplate,
		},
		{
			name: configv1.NutanixPlatformType, kind: "NutanixMachineProviderConfig", spec: func() any { return &machinev1.NutanixMachineProviderConfig{} },
			domains: nutanixDomains, found: nutanixFound, unordered: []string{"categories"},
			defaults: map[string]any{"credentialsSecret.name": "nutanix-credentials"},
		},
		{
			name: configv1.PowerVSPlatformType, kind: "PowerVSMachineProviderConfig", spec: func() any { return &machinev1.PowerVSMachineProviderConfig{} },
			defaults: map[string]any{
				"credentialsSecret.name": "powervs-credentials", "systemType": "s922", "processorType": string(machinev1.PowerVSProcessorTypeShared), "memoryGiB": 32.0,
			}, respell: powerVSProcessors,
		},
	}
}

// platformNamed is the row of a platform, a generic one if there is none.
func platformNamed(name configv1.PlatformType) platform {
	all := platforms()
	if i := slices.IndexFunc(all, func(p platform) bool { return p.name == name }); i >= 0 {
		return all[i]
	}
	return platform{name: name}
}

// PlatformOf is the platform of the cluster that an Infrastructure describes; "" where it does not say, or there is none.
func PlatformOf(i *configv1.Infrastructure) configv1.PlatformType {
	if i == nil || i.Status.PlatformStatus == nil {
		return ""
	}
	return i.Status.PlatformStatus.Type
}

// rowOf is the row by which a template is read. Where the Infrastructure does not name the platform, the template does: nothing is made there,
// but what its Machines differ in is still compared by meaning.
func rowOf(t machinev1.OpenShiftMachineV1Beta1MachineTemplate, i *configv1.Infrastructure) platform {
	name := PlatformOf(i)
	if f := t.FailureDomains; name == "" && f != nil {
		name = f.Platform
	}
	if name != "" {
		row := platformNamed(name)
		row.added, row.usual = added(i), usual(i)
		return row
	}
	kind, _ := providerSpec(t.Spec)["kind"].(string)
	all := platforms()
	if at := slices.IndexFunc(all, func(p platform) bool { return p.kind == kind }); at >= 0 {
		return all[at]
	}
	return platform{}
}
