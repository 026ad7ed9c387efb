// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azuretest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// Key is an SSH public key in the form that both APIs use: the base64 of a line of authorized_keys. A private key for it does not exist.
const Key = "c3NoLWVkMjU1MTkgQUFBQUMzTnphQzFsWkRJMU5URTVBQUFBSUJPYmwvRE1VSVJVRmVFOFpkTy92czVGRlZ2ZFZUOHcwTUdRL3RjQkEzN0k="

// ProviderValues returns makers of valid values for those fields of a providerSpec whose values must obey rules.
func ProviderValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	return conversiontest.Values{
		"kind": one(""), "apiVersion": one(""),
		"metadata": conversiontest.OneOf(metav1.ObjectMeta{Name: "x"}),
		"userDataSecret": conversiontest.OneOf(&corev1.SecretReference{Name: "worker-user-data"},
			&corev1.SecretReference{Name: "mine", Namespace: "openshift-machine-api"}),
		"credentialsSecret": conversiontest.OneOf(corev1.SecretReference{Name: "azure-cloud-credentials"},
			corev1.SecretReference{Name: "azure-cloud-credentials", Namespace: "openshift-machine-api"}),
		"location":             one("", "westeurope", "West Europe"),
		"resourceGroup":        one("", "lock-7x2k9-rg", "LOCK-7x2k9-rg"),
		"networkResourceGroup": one("", "lock-7x2k9-rg"),
		"vnet":                 one("lock-7x2k9-vnet"),
		"subnet":               one(workerSubnet, "another-subnet"),
		"image": conversiontest.OneOf(
			machinev1beta1.Image{ResourceID: imageID},
			machinev1beta1.Image{ResourceID: subscription + imageID, Type: machinev1beta1.AzureImageTypeID},
			machinev1beta1.Image{Publisher: "azureopenshift", Offer: "aro4", SKU: "420-v2", Version: "9.6.20251015"},
			machinev1beta1.Image{Publisher: "azureopenshift", Offer: "aro4", SKU: "420-v2", Version: "latest", Type: machinev1beta1.AzureImageTypeMarketplaceNoPlan},
			machinev1beta1.Image{Publisher: "redhat", Offer: "rh-ocp-worker", SKU: "rh-ocp-worker", Version: "413.92.2023101700",
				Type: machinev1beta1.AzureImageTypeMarketplaceWithPlan},
		),
		"osDisk.osType":      one("", "Linux"),
		"osDisk.diskSizeGB":  conversiontest.OneOf[int32](1, 128, 2048),
		"osDisk.cachingType": one("", "None", "ReadOnly", "ReadWrite"),
		"osDisk.diskSettings.ephemeralStorageLocation": one("", "Local"),
		"osDisk.managedDisk.storageAccountType":        one("Premium_LRS", "StandardSSD_LRS", "Standard_LRS"),
		"osDisk.managedDisk.diskEncryptionSet.id":      one("", keySet),
		"osDisk.managedDisk.securityProfile":           conversiontest.OneOf(machinev1beta1.VMDiskSecurityProfile{}),
		"dataDisks[].diskSizeGB":                       conversiontest.OneOf[int32](4, 64, 32767),
		"dataDisks[].lun":                              conversiontest.OneOf[int32](0),
		"dataDisks[].managedDisk.storageAccountType":   one("", "Premium_LRS", "Standard_LRS", "UltraSSD_LRS"),
		"dataDisks[].managedDisk.diskEncryptionSet.id": one("", keySet),
		"dataDisks[].cachingType":                      one("", "None", "ReadOnly", "ReadWrite"),
		"dataDisks[].deletionPolicy":                   one("Delete"),
		"sshPublicKey":                                 one("", Key),
		"securityGroup":                                one("", "lock-7x2k9-nsg"),
		"publicLoadBalancer":                           one(""),
		"internalLoadBalancer":                         one(""),
		"managedIdentity": one("", "lock-7x2k9-identity", subscription+identityID,
			subscription+"/resourceGroups/other/providers/Microsoft.ManagedIdentity/userAssignedIdentities/other"),
		"zone":                   one("", "1", "3"),
		"tags.key":               one("a", "B", "c-1", "team"),
		"spotVMOptions.maxPrice": conversiontest.OneOf(resource.MustParse("0.25"), resource.MustParse("-1")),
		"securityProfile":        func(*rand.Rand) any { return (*machinev1beta1.SecurityProfile)(nil) },
		"ultraSSDCapability":     one("", "Enabled", "Disabled"),
		"diagnostics.boot": conversiontest.OneOf(
			machinev1beta1.AzureBootDiagnostics{StorageAccountType: "AzureManaged"},
			machinev1beta1.AzureBootDiagnostics{StorageAccountType: "CustomerManaged",
				CustomerManaged: &machinev1beta1.AzureCustomerManagedBootDiagnostics{StorageAccountURI: "https://lock.blob.core.windows.net/"}},
		),
		"capacityReservationGroupID": one("", reservation),
	}
}

// RepairProvider changes a worker's generated providerSpec so that it also obeys the rules about more than one field.
func RepairProvider(r *rand.Rand, m *machinev1beta1.AzureMachineProviderSpec) {
	if !m.PublicIP {
		m.PublicLoadBalancer = "lock-7x2k9"
	}
	if m.Subnet != workerSubnet {
		m.SecurityGroup = ""
	}
	if m.OSDisk.DiskSettings.EphemeralStorageLocation != "" {
		m.OSDisk.CachingType, m.OSDisk.ManagedDisk.DiskEncryptionSet = "ReadOnly", nil
	}
	if m.OSDisk.ManagedDisk.DiskEncryptionSet == nil && r.IntN(4) == 0 {
		m.OSDisk.ManagedDisk.StorageAccountType = ""
	}
	m.SecurityProfile, m.OSDisk.ManagedDisk.SecurityProfile = security(r)
	if m.OSDisk.ManagedDisk.SecurityProfile.SecurityEncryptionType != "" {
		m.OSDisk.ManagedDisk.StorageAccountType = "Premium_LRS"
	}
	for i := range m.DataDisks {
		d := &m.DataDisks[i]
		d.NameSuffix, d.Lun = fmt.Sprintf("%s_%d", d.NameSuffix, i), int32((i*7+3)%64)
		if d.ManagedDisk.StorageAccountType == machinev1beta1.StorageAccountUltraSSDLRS {
			d.CachingType = machinev1beta1.CachingTypeNone
		}
	}
}

// security returns a random security profile, and the OS disk's profile that matches it.
func security(r *rand.Rand) (*machinev1beta1.SecurityProfile, machinev1beta1.VMDiskSecurityProfile) {
	yes, no := true, false
	uefi := machinev1beta1.UEFISettings{SecureBoot: machinev1beta1.SecureBootPolicyEnabled,
		VirtualizedTrustedPlatformModule: machinev1beta1.VirtualizedTrustedPlatformModulePolicyEnabled}
	guest := machinev1beta1.VMDiskSecurityProfile{SecurityEncryptionType: machinev1beta1.SecurityEncryptionTypesVMGuestStateOnly}
	whole := machinev1beta1.VMDiskSecurityProfile{SecurityEncryptionType: machinev1beta1.SecurityEncryptionTypesDiskWithVMGuestState,
		DiskEncryptionSet: machinev1beta1.DiskEncryptionSetParameters{ID: keySet}}
	confidential := machinev1beta1.SecuritySettings{SecurityType: machinev1beta1.SecurityTypesConfidentialVM,
		ConfidentialVM: &machinev1beta1.ConfidentialVM{UEFISettings: uefi}}
	trusted := machinev1beta1.SecuritySettings{SecurityType: machinev1beta1.SecurityTypesTrustedLaunch,
		TrustedLaunch: &machinev1beta1.TrustedLaunch{UEFISettings: uefi}}
	half := trusted
	half.TrustedLaunch = &machinev1beta1.TrustedLaunch{UEFISettings: machinev1beta1.UEFISettings{SecureBoot: machinev1beta1.SecureBootPolicyDisabled,
		VirtualizedTrustedPlatformModule: machinev1beta1.VirtualizedTrustedPlatformModulePolicyEnabled}}
	all := []struct {
		profile *machinev1beta1.SecurityProfile
		disk    machinev1beta1.VMDiskSecurityProfile
	}{
		{}, {}, {},
		{profile: &machinev1beta1.SecurityProfile{}},
		{profile: &machinev1beta1.SecurityProfile{EncryptionAtHost: &yes}},
		{profile: &machinev1beta1.SecurityProfile{EncryptionAtHost: &no, Settings: trusted}},
		{profile: &machinev1beta1.SecurityProfile{EncryptionAtHost: &yes, Settings: half}},
		{profile: &machinev1beta1.SecurityProfile{EncryptionAtHost: &no, Settings: confidential}, disk: guest},
		{profile: &machinev1beta1.SecurityProfile{Settings: confidential}, disk: whole},
	}
	made := all[r.IntN(len(all))]
	return made.profile, made.disk
}

// NormalProvider changes a worker's providerSpec into the form that it has after the round trip. If two forms mean the same, the note in the field's row says
// which one comes back.
func NormalProvider(m *machinev1beta1.AzureMachineProviderSpec) {
	m.CredentialsSecret = &corev1.SecretReference{Name: "azure-cloud-credentials", Namespace: "openshift-machine-api"}
	m.UserDataSecret = &corev1.SecretReference{Name: m.UserDataSecret.Name}
	m.Location, m.ResourceGroup, m.NetworkResourceGroup, m.SecurityGroup = "westeurope", "lock-7x2k9-rg", "lock-7x2k9-rg", ""
	m.Image.ResourceID = strings.TrimPrefix(m.Image.ResourceID, subscription)
	switch {
	case m.Image.ResourceID != "":
		m.Image.Type = ""
	case m.Image.Type == "":
		m.Image.Type = machinev1beta1.AzureImageTypeMarketplaceNoPlan
	}
	if strings.HasSuffix(m.ManagedIdentity, identityID) {
		m.ManagedIdentity = "lock-7x2k9-identity"
	}
	m.OSDisk.OSType = "Linux"
	if m.OSDisk.CachingType == "" {
		m.OSDisk.CachingType = "None"
	}
	if s := m.SecurityProfile; s != nil && s.EncryptionAtHost == nil && s.Settings.SecurityType == "" {
		m.SecurityProfile = nil
	}
	for i := range m.DataDisks {
		d := &m.DataDisks[i]
		if d.CachingType == "" {
			d.CachingType = machinev1beta1.CachingTypeNone
		}
		if d.ManagedDisk.StorageAccountType == "" {
			d.ManagedDisk.StorageAccountType = machinev1beta1.StorageAccountPremiumLRS
		}
	}
}
