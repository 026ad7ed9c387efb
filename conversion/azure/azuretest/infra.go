// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azuretest

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/api/resource"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// InfraValues returns makers of valid values for those fields of an AzureMachine's spec whose values must obey rules.
func InfraValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	return conversiontest.Values{
		"providerID":    one(Instance),
		"failureDomain": one("1"),
		"image":         func(*rand.Rand) any { return &azurev1.Image{} },
		"identity":      one(""),
		"userAssignedIdentities": conversiontest.OneOf(
			[]azurev1.UserAssignedIdentity(nil),
			[]azurev1.UserAssignedIdentity{{ProviderID: "azure://" + subscription + identityID}},
			[]azurev1.UserAssignedIdentity{{ProviderID: "azure://" + subscription +
				"/resourcegroups/other/providers/Microsoft.ManagedIdentity/userAssignedIdentities/other"}},
		),
		"osDisk.osType":                                  one("", "Linux"),
		"osDisk.diskSizeGB":                              conversiontest.OneOf(new(int32(1)), new(int32(2048))),
		"osDisk.managedDisk":                             func(*rand.Rand) any { return (*azurev1.ManagedDiskParameters)(nil) },
		"osDisk.diffDiskSettings.option":                 one("Local"),
		"osDisk.cachingType":                             one("", "None", "ReadOnly", "ReadWrite"),
		"osDisk.diffDiskSettings.placement":              one("CacheDisk", "NvmeDisk"),
		"dataDisks[].diskSizeGB":                         conversiontest.OneOf[int32](4, 32767),
		"dataDisks[].lun":                                conversiontest.OneOf[int32](0),
		"dataDisks[].cachingType":                        one("", "None", "ReadOnly", "ReadWrite"),
		"dataDisks[].managedDisk.storageAccountType":     one("Premium_LRS", "Standard_LRS", "UltraSSD_LRS"),
		"dataDisks[].managedDisk.diskEncryptionSet.id":   one("", keySet),
		"sshPublicKey":                                   one("", Key),
		"additionalTags.key":                             one("a", "B", "c-1", "team"),
		"acceleratedNetworking":                          func(*rand.Rand) any { return (*bool)(nil) },
		"subnetName":                                     one(""),
		"networkInterfaces":                              func(*rand.Rand) any { return []azurev1.NetworkInterface(nil) },
		"diagnostics.boot.storageAccountType":            one("Managed", "Disabled", "UserManaged"),
		"diagnostics.boot.userManaged.storageAccountURI": one("https://lock.blob.core.windows.net/"),
		"spotVMOptions.maxPrice":                         conversiontest.OneOf(resource.MustParse("0.25"), resource.MustParse("-1")),
		"spotVMOptions.evictionPolicy":                   conversiontest.OneOf(azurev1.SpotEvictionPolicyDelete),
		"securityProfile":                                func(*rand.Rand) any { return (*azurev1.SecurityProfile)(nil) },
		"disableExtensionOperations":                     conversiontest.OneOf(new(true)),
		"vmExtensions":                                   conversiontest.OneOf([]azurev1.VMExtension{{Name: "x", Publisher: "x", Version: "1"}}),
		"capacityReservationGroupID":                     one(reservation),
	}
}

// RepairInfra changes an AzureMachine's generated spec so that it also obeys the rules about more than one field.
func RepairInfra(r *rand.Rand, c *azurev1.AzureMachineSpec) {
	repairImage(r, c)
	switch {
	case len(c.UserAssignedIdentities) > 0:
		c.Identity = azurev1.VMIdentityUserAssigned
	case r.IntN(2) == 0:
		c.Identity = azurev1.VMIdentityNone
	}
	repairInterface(r, c)
	if c.Diagnostics != nil && c.Diagnostics.Boot != nil {
		repairDiagnostics(c.Diagnostics.Boot)
	}
	repairOSDisk(r, c)
	luns := r.IntN(2) == 0
	for i := range c.DataDisks {
		repairDisk(&c.DataDisks[i], i, luns)
	}
}

func repairImage(r *rand.Rand, c *azurev1.AzureMachineSpec) {
	if r.IntN(2) == 0 {
		c.Image.ID = new(subscription + imageID)
		return
	}
	c.Image.Marketplace = &azurev1.AzureMarketplaceImage{
		ImagePlan: azurev1.ImagePlan{Publisher: "redhat", Offer: "rh-ocp-worker", SKU: "rh-ocp-worker"}, Version: "latest", ThirdPartyImage: r.IntN(2) == 0,
	}
}

// repairInterface sets the machine's only interface, either in networkInterfaces or in the older fields.
func repairInterface(r *rand.Rand, c *azurev1.AzureMachineSpec) {
	on := r.IntN(2) == 0
	if r.IntN(4) == 0 {
		c.SubnetName, c.AcceleratedNetworking = "another-subnet", &on
		return
	}
	subnet := []string{workerSubnet, "another-subnet", ""}[r.IntN(3)]
	c.NetworkInterfaces = []azurev1.NetworkInterface{{SubnetName: subnet, AcceleratedNetworking: &on, PrivateIPConfigs: r.IntN(2)}}
}

func repairDiagnostics(boot *azurev1.BootDiagnostics) {
	switch {
	case boot.StorageAccountType != azurev1.UserManagedDiagnosticsStorage:
		boot.UserManaged = nil
	case boot.UserManaged == nil:
		boot.UserManaged = &azurev1.UserManagedBootDiagnostics{StorageAccountURI: "https://lock.blob.core.windows.net/"}
	}
}

func repairOSDisk(r *rand.Rand, c *azurev1.AzureMachineSpec) {
	if c.OSDisk.DiffDiskSettings != nil {
		c.OSDisk.CachingType = "ReadOnly"
	} else if c.SpotVMOptions != nil {
		c.SpotVMOptions.EvictionPolicy = new(azurev1.SpotEvictionPolicyDelete)
	}
	yes, no := true, false
	set := &azurev1.DiskEncryptionSetParameters{ID: keySet}
	uefi := &azurev1.UefiSettings{SecureBootEnabled: &yes, VTpmEnabled: &yes}
	premium := func() *azurev1.ManagedDiskParameters {
		return &azurev1.ManagedDiskParameters{StorageAccountType: "Premium_LRS"}
	}
	switch r.IntN(8) {
	case 0:
		c.OSDisk.ManagedDisk = premium()
	case 1:
		if c.OSDisk.DiffDiskSettings == nil {
			c.OSDisk.ManagedDisk = premium()
			c.OSDisk.ManagedDisk.DiskEncryptionSet = set
		}
	case 2:
		c.SecurityProfile = &azurev1.SecurityProfile{EncryptionAtHost: &yes}
	case 3:
		c.SecurityProfile = &azurev1.SecurityProfile{SecurityType: azurev1.SecurityTypesTrustedLaunch,
			UefiSettings: &azurev1.UefiSettings{SecureBootEnabled: &no, VTpmEnabled: &yes}}
	case 4:
		c.SecurityProfile = &azurev1.SecurityProfile{EncryptionAtHost: &no, SecurityType: azurev1.SecurityTypesConfidentialVM,
			UefiSettings: &azurev1.UefiSettings{VTpmEnabled: &yes}}
		c.OSDisk.ManagedDisk = premium()
		c.OSDisk.ManagedDisk.SecurityProfile = &azurev1.VMDiskSecurityProfile{SecurityEncryptionType: azurev1.SecurityEncryptionTypeVMGuestStateOnly}
	case 5:
		c.SecurityProfile = &azurev1.SecurityProfile{SecurityType: azurev1.SecurityTypesConfidentialVM, UefiSettings: uefi}
		c.OSDisk.ManagedDisk = premium()
		c.OSDisk.ManagedDisk.SecurityProfile = &azurev1.VMDiskSecurityProfile{SecurityEncryptionType: azurev1.SecurityEncryptionTypeDiskWithVMGuestState,
			DiskEncryptionSet: set}
	}
}

// repairDisk gives a data disk a name that no other disk has. If lun is true, it also gives the disk a LUN that no other disk has; otherwise the disk has
// none.
func repairDisk(d *azurev1.DataDisk, i int, lun bool) {
	d.NameSuffix, d.Lun = fmt.Sprintf("%s.%d", d.NameSuffix, i), nil
	if lun {
		d.Lun = new(int32(63 - i))
	}
	if d.ManagedDisk == nil {
		d.ManagedDisk = &azurev1.ManagedDiskParameters{StorageAccountType: "Premium_LRS"}
	}
	if d.ManagedDisk.StorageAccountType == "UltraSSD_LRS" {
		d.CachingType = "None"
	}
}

// owned is the tag by which an uninstall of OpenShift finds what belongs to the cluster of the kit.
const owned = "kubernetes.io_cluster.lock-7x2k9"

// NormalInfra changes an AzureMachine's spec into the form that it has after the round trip. That form has the defaults of the API server and of the
// provider's webhook, and the Machine's provider ID.
func NormalInfra(c *azurev1.AzureMachineSpec) {
	if _, marked := c.AdditionalTags[owned]; !marked { // the conversion adds this tag, because Machine API gives it to each virtual machine
		if c.AdditionalTags == nil {
			c.AdditionalTags = azurev1.Tags{}
		}
		c.AdditionalTags[owned] = "owned"
	}
	Default(c)
	c.ProviderID, c.FailureDomain, c.DisableVMBootstrapExtension = new(Instance), nil, nil
	if c.NetworkInterfaces[0].SubnetName == "" {
		c.NetworkInterfaces[0].SubnetName = workerSubnet
	}
	if c.AdditionalCapabilities != nil && c.AdditionalCapabilities.UltraSSDEnabled == nil {
		c.AdditionalCapabilities = nil
	}
}

// Default sets the defaults of the CRD and of the AzureMachine's webhook, except the public key that the webhook generates.
func Default(c *azurev1.AzureMachineSpec) {
	fill := func(at *string, value string) {
		if *at == "" {
			*at = value
		}
	}
	fill((*string)(&c.Identity), "None")
	fill(&c.OSDisk.OSType, "Linux")
	fill(&c.OSDisk.CachingType, "None")
	if c.SpotVMOptions != nil && c.SpotVMOptions.EvictionPolicy == nil {
		policy := azurev1.SpotEvictionPolicyDeallocate
		if c.OSDisk.DiffDiskSettings != nil {
			policy = azurev1.SpotEvictionPolicyDelete
		}
		c.SpotVMOptions.EvictionPolicy = &policy
	}
	if c.Diagnostics == nil {
		c.Diagnostics = &azurev1.Diagnostics{}
	}
	if c.Diagnostics.Boot == nil {
		c.Diagnostics.Boot = &azurev1.BootDiagnostics{StorageAccountType: azurev1.ManagedDiagnosticsStorage}
	}
	if len(c.NetworkInterfaces) == 0 {
		c.NetworkInterfaces = []azurev1.NetworkInterface{{SubnetName: c.SubnetName, AcceleratedNetworking: c.AcceleratedNetworking}}
		c.SubnetName, c.AcceleratedNetworking = "", nil
	}
	for i := range c.NetworkInterfaces {
		c.NetworkInterfaces[i].PrivateIPConfigs = max(c.NetworkInterfaces[i].PrivateIPConfigs, 1)
	}
	defaultDisks(c.DataDisks)
}

func defaultDisks(disks []azurev1.DataDisk) {
	taken := map[int32]bool{}
	for _, d := range disks {
		if d.Lun != nil {
			taken[*d.Lun] = true
		}
	}
	for i := range disks {
		d := &disks[i]
		for lun := int32(0); d.Lun == nil; lun++ {
			if !taken[lun] {
				d.Lun, taken[lun] = &lun, true
			}
		}
		if d.CachingType == "" {
			d.CachingType = "ReadWrite"
			if d.ManagedDisk != nil && d.ManagedDisk.StorageAccountType == "UltraSSD_LRS" {
				d.CachingType = "None"
			}
		}
	}
}
