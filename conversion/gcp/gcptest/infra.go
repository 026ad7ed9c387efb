// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcptest

import (
	"fmt"
	"math/rand/v2"

	gcpv1 "sigs.k8s.io/cluster-api-provider-gcp/api/v1beta1"

	"github.com/poundlock/poundlock/conversion/conversiontest"
)

// InfraValues returns makers of valid values for those fields of a GCPMachine's spec whose values must obey rules.
func InfraValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	kms := one("projects/keys/locations/global/keyRings/ring/cryptoKeys/key", "projects/"+Project+"/locations/us/keyRings/r/cryptoKeys/k")
	return conversiontest.Values{
		"providerID":           one(ProviderID("x")),
		"instanceType":         one("n2-standard-4", "e2-custom-4-16384"),
		"image":                conversiontest.OneOf(new("projects/rhcos-cloud/global/images/rhcos-9"), new("global/images/mine")),
		"rootDeviceType":       conversiontest.OneOf(new(gcpv1.DiskType("pd-standard")), new(gcpv1.DiskType("pd-ssd"))),
		"additionalLabels.key": one("team", "cost-centre", clusterLabel, "capg-cluster-"+Cluster),
		"publicIP":             conversiontest.OneOf(true),
		"provisioningModel":    one("Spot"),
		"ipForwarding":         one("Enabled", "Disabled"),
		"onHostMaintenance":    one("Migrate", "Terminate"),
		"confidentialCompute": one("Disabled", "Enabled", "AMDEncryptedVirtualization", "AMDEncryptedVirtualizationNestedPaging",
			"IntelTrustedDomainExtensions"),
		"aliasIPRanges[].ipCidrRange":    one("10.2.3.4", "/24"),
		"resourceManagerTags[].parentID": one("123456789012", Project),
		"guestAccelerators[].type": one("projects/"+Project+"/zones/"+Zone+"/acceleratorTypes/nvidia-tesla-t4",
			"projects/"+Project+"/zones/"+Zone+"/acceleratorTypes/nvidia-tesla-k80"),
		"additionalDisks[].deviceType":                            conversiontest.OneOf(new(gcpv1.DiskType("pd-balanced")), new(gcpv1.DiskType("pd-ssd"))),
		"additionalDisks[].size":                                  conversiontest.OneOf(new(int64(30)), new(int64(500))),
		"rootDiskEncryptionKey.keyType":                           one("Managed"),
		"additionalDisks[].encryptionKey.keyType":                 one("Managed"),
		"rootDiskEncryptionKey.managedKey.kmsKeyName":             kms,
		"rootDiskEncryptionKey.kmsKeyServiceAccount":              one(account),
		"additionalDisks[].encryptionKey.kmsKeyServiceAccount":    one(account),
		"shieldedInstanceConfig.secureBoot":                       one("", "Enabled", "Disabled"),
		"shieldedInstanceConfig.virtualizedTrustedPlatformModule": one("", "Enabled", "Disabled"),
		"shieldedInstanceConfig.integrityMonitoring":              one("", "Enabled", "Disabled"),
	}
}

// RepairInfra changes a GCPMachine's generated spec so that it also obeys the rules about more than one field.
func RepairInfra(_ *rand.Rand, c *gcpv1.GCPMachineSpec) {
	for _, k := range []string{clusterLabel, "capg-cluster-" + Cluster} {
		if _, there := c.AdditionalLabels[k]; there {
			c.AdditionalLabels[k] = "owned"
		}
	}
	for i := range c.AdditionalMetadata {
		c.AdditionalMetadata[i].Key = fmt.Sprintf("%s-%d", c.AdditionalMetadata[i].Key, i)
	}
	for i := range c.ResourceManagerTags {
		c.ResourceManagerTags[i].Key = fmt.Sprintf("%s-%d", c.ResourceManagerTags[i].Key, i)
	}
	if c.ServiceAccount == nil {
		c.ServiceAccount = &gcpv1.ServiceAccount{Email: "default"}
	}
	if len(c.ServiceAccount.Scopes) == 0 {
		c.ServiceAccount.Scopes = []string{"https://www.googleapis.com/auth/cloud-platform"}
	}
	if c.Subnet == nil || *c.Subnet == "" {
		c.Subnet = new("workers")
	}
	if c.RootDeviceSize != 0 {
		c.RootDeviceSize = max(c.RootDeviceSize, 16)
	}
	c.GuestAccelerators = c.GuestAccelerators[:min(len(c.GuestAccelerators), 1)]
	c.Preemptible = c.Preemptible && c.ProvisioningModel == nil
	repairInfraScheduling(c)
	repairKeys(c)
}

func repairInfraScheduling(c *gcpv1.GCPMachineSpec) {
	terminate := gcpv1.HostMaintenancePolicyTerminate
	if c.ConfidentialCompute != nil && series[string(*c.ConfidentialCompute)] != "" {
		c.InstanceType, c.OnHostMaintenance = series[string(*c.ConfidentialCompute)]+"-standard-4", &terminate
	}
	if len(c.GuestAccelerators) > 0 {
		c.OnHostMaintenance = &terminate
	}
	s := c.ShieldedInstanceConfig
	if s != nil && s.IntegrityMonitoring != "Disabled" && s.VirtualizedTrustedPlatformModule == "Disabled" {
		s.VirtualizedTrustedPlatformModule = ""
	}
	if s != nil && *s == (gcpv1.GCPShieldedInstanceConfig{}) {
		c.ShieldedInstanceConfig = nil
	}
}

// repairKeys gives the root disk's encryption key to all disks that have a key. It does not change the content of a supplied key, because another row refuses
// it.
func repairKeys(c *gcpv1.GCPMachineSpec) {
	root := c.RootDiskEncryptionKey
	if root != nil && root.ManagedKey == nil {
		root.ManagedKey = &gcpv1.ManagedKey{KMSKeyName: "projects/keys/locations/global/keyRings/ring/cryptoKeys/key"}
	}
	for i := range c.AdditionalDisks {
		switch d := &c.AdditionalDisks[i]; {
		case root == nil:
			d.EncryptionKey = nil
		case d.EncryptionKey != nil:
			d.EncryptionKey.ManagedKey, d.EncryptionKey.KMSKeyServiceAccount = root.ManagedKey, root.KMSKeyServiceAccount
		}
	}
}

// NormalInfra changes a GCPMachine's spec into the form that it has after the round trip. That form has the API server's defaults, the controllers' provider
// ID, and the label that Machine API gives to every instance. Nothing else may change, because the provider makes the spec immutable.
func NormalInfra(c *gcpv1.GCPMachineSpec) {
	c.ProviderID = new(ProviderID("x"))
	if c.IPForwarding == nil {
		c.IPForwarding = new(gcpv1.IPForwardingEnabled)
	}
	if c.AdditionalLabels == nil {
		c.AdditionalLabels = gcpv1.Labels{}
	}
	c.AdditionalLabels[clusterLabel] = "owned"
}
