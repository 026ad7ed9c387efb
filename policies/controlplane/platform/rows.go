// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/unread"
)

// Row describes one infrastructure platform: everything in which the platforms differ.
type Row struct {
	Name configv1.PlatformType
	// Kind is the providerSpec's kind, and Spec returns an empty providerSpec of its Go type.
	Kind string
	Spec func() any
	// Domains reads the set's failure domains. It is nil if the platform has none.
	Domains func(machinev1.FailureDomains, *configv1.Infrastructure) ([]Domain, field.ErrorList)
	// Found returns a function that reads a failure domain from a providerSpec. The list "own" has the providerSpecs of the control plane's Machines. Found is nil
	// if Domains is nil.
	Found func(own []map[string]any, i *configv1.Infrastructure) finder
	// zones are the members of a providerSpec that determine a Machine's place, whether or not the set lists that place.
	zones []string
	// named reports that Cluster API identifies a failure domain by its name in the Infrastructure, and not by its place.
	named bool
	// names are limits on the name of a control plane Machine. Its instance gets that name, and so does its host if the platform names the host after the
	// instance. The narrowest limit comes first. If names is nil, only the limit of any object of Kubernetes applies.
	names []NameLimit
	// Unordered are the lists of the providerSpec whose order means nothing.
	Unordered []string
	// Boot is the member with the image that an instance boots from, if the Machine Config Operator writes that image; "" for none. If the member is in a list of
	// disks, only the boot disk's image is meant.
	Boot string
	// clustered are the members whose values a machine of Cluster API gets from its infrastructure cluster object, including all members below them. The mirror
	// writes that object's values into the providerSpec.
	clustered []string
	// void are members that the platform does not read. hollow are members in which an empty object means the same as an absent one.
	void, hollow []string
	// defaults are the values that the platform assumes for absent members.
	defaults map[string]any
	// follows returns the default of an absent member if that default depends on other members, else nil. The field follows itself may be nil.
	follows func(path string, spec map[string]any) any
	// counting changes a providerSpec: of several members that mean the same it keeps one, and it sorts items whose order means nothing. It may be nil.
	counting func(spec map[string]any)
	// respell changes values that have several spellings to one of them. It may be nil.
	respell func(spec map[string]any)
	// usual are the values, by path, that this cluster's machines have if their providerSpec has none.
	usual map[string]any
	// added is what every machine of this cluster has, whether or not its providerSpec has it.
	added map[string]any
	// templates has the names of this cluster's vSphere templates by their paths.
	templates map[string]string
}

// All lists the platforms. A platform that is not listed is generic: it has no failure domains, and its providerSpec is compared as it is.
func All() []Row {
	return []Row{
		{
			Name: configv1.AWSPlatformType, Kind: "AWSMachineProviderConfig", Boot: "ami", Spec: func() any { return &machinev1beta1.AWSMachineProviderConfig{} },
			zones: []string{"placement.availabilityZone"}, clustered: []string{"loadBalancers"},
			Domains: awsDomains, Found: awsFound, Unordered: []string{"tags", "securityGroups", "loadBalancers",
				"placement.host.dedicatedHost.dynamicHostAllocation.tags"},
			void: []string{"blockDevices[].ebs.deleteOnTermination"}, hollow: []string{"cpuOptions", "iamInstanceProfile"},
			counting: awsSpelling, defaults: map[string]any{
				"credentialsSecret.name": "aws-cloud-credentials", "blockDevices[].ebs.iops": 0.0, "blockDevices[].ebs.throughputMib": 0.0,
				"placement.host.dedicatedHost.allocationStrategy": string(machinev1beta1.AllocationStrategyUserProvided),
			},
		},
		{
			Name: configv1.AzurePlatformType, Kind: "AzureMachineProviderSpec", Boot: "image", Spec: func() any { return &machinev1beta1.AzureMachineProviderSpec{} },
			zones: []string{"zone"}, names: azureNames, clustered: []string{"location", "resourceGroup", "networkResourceGroup", "vnet", "internalLoadBalancer",
				"publicLoadBalancer", "managedIdentity", "securityGroup", "image"},
			Domains: azureDomains, Found: azureFound, Unordered: []string{"applicationSecurityGroups", "dataDisks"},
			hollow: []string{"securityProfile"}, counting: azureSpelling, defaults: map[string]any{
				"credentialsSecret.name": "azure-cloud-credentials", "credentialsSecret.namespace": ownNamespace, "userDataSecret.namespace": ownNamespace,
				"osDisk.osType": "Linux", "osDisk.cachingType": "None", "dataDisks[].cachingType": "None",
				"dataDisks[].managedDisk.storageAccountType": string(machinev1beta1.StorageAccountPremiumLRS),
				"image.type": string(machinev1beta1.AzureImageTypeMarketplaceNoPlan),
			},
		},
		{
			Name: configv1.GCPPlatformType, Kind: "GCPMachineProviderSpec", Boot: "disks[].image", Spec: func() any { return &machinev1beta1.GCPMachineProviderSpec{} },
			zones: []string{"zone"}, names: gcpNames, clustered: []string{"region", "projectID", "networkInterfaces[].network", "networkInterfaces[].projectID"},
			Domains: gcpDomains, Found: gcpFound, Unordered: []string{"tags", "targetPools", "resourceManagerTags", "serviceAccounts[].scopes"},
			hollow: []string{"disks[].encryptionKey"}, counting: gcpSpelling,
			defaults: map[string]any{"credentialsSecret.name": "gcp-cloud-credentials", "disks[].type": "pd-standard"},
		},
		{
			Name: configv1.OpenStackPlatformType, Kind: "OpenstackProviderSpec", Spec: func() any { return &machinev1alpha1.OpenstackProviderSpec{} },
			zones: []string{"availabilityZone", "rootVolume.availabilityZone"}, names: openStackNames, clustered: []string{"cloudName", "cloudsSecret", "tags"},
			Domains: openStackDomains, Found: openStackFound, Unordered: []string{"securityGroups", "tags"},
			void: unread.Members(string(configv1.OpenStackPlatformType)), hollow: []string{"additionalBlockDevices[].storage.volume"},
			counting: openStackReferences, respell: openStackSpelling,
			defaults: map[string]any{"cloudsSecret.namespace": ownNamespace, "userDataSecret.namespace": ownNamespace},
		},
		{
			Name: configv1.VSpherePlatformType, Kind: "VSphereMachineProviderSpec", Spec: func() any { return &machinev1beta1.VSphereMachineProviderSpec{} },
			zones: []string{"workspace.server", "workspace.datacenter", "workspace.resourcePool"}, named: true, names: vSphereNames,
			Domains: vSphereDomains, Found: vSphereFound, Unordered: []string{"tagIDs"},
			defaults: map[string]any{
				"credentialsSecret.name": "vsphere-cloud-credentials", "workspace.datacenter": "*", "cloneMode": string(machinev1beta1.FullClone),
			}, respell: bareTemplate,
		},
		{
			Name: configv1.NutanixPlatformType, Kind: "NutanixMachineProviderConfig", Spec: func() any { return &machinev1.NutanixMachineProviderConfig{} },
			zones: []string{"failureDomain.name"}, names: nutanixNames,
			Domains: nutanixDomains, Found: nutanixFound, Unordered: []string{"categories"},
			defaults: map[string]any{"credentialsSecret.name": "nutanix-credentials"},
		},
		{
			Name: configv1.PowerVSPlatformType, Kind: "PowerVSMachineProviderConfig", Spec: func() any { return &machinev1.PowerVSMachineProviderConfig{} },
			names: powerVSNames, clustered: []string{"loadBalancers"}, Unordered: []string{"loadBalancers"},
			defaults: map[string]any{
				"credentialsSecret.name": "powervs-credentials", "systemType": "s922", "processorType": string(machinev1.PowerVSProcessorTypeShared), "memoryGiB": 32.0,
			}, respell: powerVSProcessors, follows: usualProcessors,
		},
	}
}

// Named returns the row of a platform. It returns a generic row if All does not list the platform.
func Named(name configv1.PlatformType) Row {
	all := All()
	if i := slices.IndexFunc(all, func(p Row) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	return Row{Name: name}
}

// Of returns the platform of the cluster that an Infrastructure describes; "" if it names none or does not exist.
func Of(i *configv1.Infrastructure) configv1.PlatformType {
	if i == nil || i.Status.PlatformStatus == nil {
		return ""
	}
	return i.Status.PlatformStatus.Type
}

// RowOf returns the row of the platform for a template. If the Infrastructure names no platform, RowOf recognizes the platform by the template, so that
// Machines can still be compared with the template by meaning (zero equals absent). The operator creates no Machine while the Infrastructure names no platform.
func RowOf(t machinev1.OpenShiftMachineV1Beta1MachineTemplate, i *configv1.Infrastructure) Row {
	name := Of(i)
	if f := t.FailureDomains; name == "" && f != nil {
		name = f.Platform
	}
	if name != "" {
		row := Named(name)
		row.added, row.usual, row.templates = added(i), usual(i), templates(i)
		return row
	}
	kind, _ := ProviderSpec(t.Spec)["kind"].(string)
	all := All()
	if at := slices.IndexFunc(all, func(p Row) bool { return p.Kind == kind }); at >= 0 {
		return all[at]
	}
	return Row{}
}
