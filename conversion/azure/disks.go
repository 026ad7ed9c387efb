// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"
)

type (
	dataDisk  = machinev1beta1.DataDisk
	infraDisk = azurev1.DataDisk
)

const (
	linux    = "Linux"
	windows  = "Windows"
	local    = "Local"
	readOnly = "ReadOnly"
	ultraSSD = string(machinev1beta1.StorageAccountUltraSSDLRS)
	noCache  = string(machinev1beta1.CachingTypeNone)

	noWindows = "a new Windows machine would not start: Machine API runs the user data at the first logon, but Cluster API expects an agent in the image " +
		"that runs the user data. Leave Machine API authoritative for the MachineSet"
	cachings = "supported values: \"None\", \"ReadOnly\", \"ReadWrite\""
)

func isCaching(word string) bool { return word == noCache || word == readOnly || word == "ReadWrite" }

func osTypeTo(p *pass, m *providerSpec, c *infraSpec) {
	c.OSDisk.OSType = first(m.OSDisk.OSType, linux)
	checkOS(p, c.OSDisk.OSType)
}

func osTypeFrom(p *pass, c *infraSpec, m *providerSpec) {
	m.OSDisk.OSType = first(c.OSDisk.OSType, linux)
	checkOS(p, m.OSDisk.OSType)
}

// exists reports whether the machine has an instance. Some differences do not matter for such a machine, because its instance does not run user data again,
// and because the provider finds the instance by its ID.
func exists(p *pass) bool { return !p.Core.Template && p.Core.ProviderID != "" }

func checkOS(p *pass, word string) {
	id := p.Core.ProviderID
	switch {
	case word == linux, word == windows && exists(p) && id[strings.LastIndex(id, "/")+1:] == p.Core.Name:
	case word == windows && exists(p):
		p.Unsupported("osDisk.osType", windows,
			"Machine API looks for the virtual machine by the Machine's name, but Cluster API has shortened the name of this Windows virtual machine. "+
				"Leave Cluster API authoritative for the Machine")
	case word == windows:
		p.Unsupported("osDisk.osType", word, noWindows)
	default:
		p.Invalid("osDisk.osType", word, "must be Linux, or Windows if the Machine already has an instance")
	}
}

// maxOSDisk is Cluster API's maximum size of an OS disk, in GB.
const maxOSDisk = 2048

func osSizeTo(p *pass, m *providerSpec, c *infraSpec) {
	size := m.OSDisk.DiskSizeGB
	checkOSSize(p, size)
	c.OSDisk.DiskSizeGB = &size
}

func osSizeFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.OSDisk.DiskSizeGB != nil {
		m.OSDisk.DiskSizeGB = *c.OSDisk.DiskSizeGB
	}
	checkOSSize(p, m.OSDisk.DiskSizeGB)
}

// checkOSSize reports an error for a size that one of the APIs does not accept. 0 means an absent size. Machine API's webhook refuses that. Cluster API accepts
// it: neither its webhook nor its CRD has a default, and its controller then sends Azure no size, so that Azure uses the image's.
func checkOSSize(p *pass, size int32) {
	switch {
	case size == 0:
		p.Required("osDisk.diskSizeGB",
			"set the size of the OS disk, in GB: Machine API needs the size, and Cluster API would otherwise use the image's size")
	case size < 0:
		p.Invalid("osDisk.diskSizeGB", size, "must be at least 1")
	case size > maxOSDisk:
		p.Unsupported("osDisk.diskSizeGB", size, fmt.Sprintf(
			"Cluster API accepts at most %d GB for an OS disk: set a size up to this limit, or leave Machine API authoritative",
			maxOSDisk))
	}
}

func osCachingTo(p *pass, m *providerSpec, c *infraSpec) {
	c.OSDisk.CachingType = first(m.OSDisk.CachingType, noCache)
	checkOSCaching(p, c.OSDisk.CachingType, m.OSDisk.DiskSettings.EphemeralStorageLocation != "")
}

func osCachingFrom(p *pass, c *infraSpec, m *providerSpec) {
	m.OSDisk.CachingType = first(c.OSDisk.CachingType, noCache)
	checkOSCaching(p, m.OSDisk.CachingType, c.OSDisk.DiffDiskSettings != nil)
}

func checkOSCaching(p *pass, word string, ephemeral bool) {
	switch {
	case !isCaching(word):
		p.Invalid("osDisk.cachingType", word, cachings)
	case ephemeral && word != readOnly:
		p.Invalid("osDisk.cachingType", word, "must be ReadOnly for an ephemeral OS disk")
	}
}

func ephemeralTo(p *pass, m *providerSpec, c *infraSpec) {
	switch where := m.OSDisk.DiskSettings.EphemeralStorageLocation; {
	case where == "":
		return
	case where != local:
		p.Invalid("osDisk.diskSettings.ephemeralStorageLocation", where, "supported values: \"Local\"")
	case m.OSDisk.ManagedDisk.DiskEncryptionSet != nil:
		p.Unsupported("osDisk.managedDisk.diskEncryptionSet", nil,
			"Cluster API accepts no disk encryption set for an ephemeral OS disk: remove diskEncryptionSet, or leave Machine API authoritative")
	}
	c.OSDisk.DiffDiskSettings = &azurev1.DiffDiskSettings{Option: m.OSDisk.DiskSettings.EphemeralStorageLocation}
}

func ephemeralFrom(p *pass, c *infraSpec, m *providerSpec) {
	settings := c.OSDisk.DiffDiskSettings
	switch {
	case settings == nil:
		return
	case settings.Option != local:
		p.Invalid("osDisk.diffDiskSettings.option", settings.Option, "supported values: \"Local\"")
	case c.OSDisk.ManagedDisk != nil && c.OSDisk.ManagedDisk.DiskEncryptionSet != nil:
		p.Invalid("osDisk.managedDisk.diskEncryptionSet", nil, "an ephemeral OS disk cannot have a disk encryption set: remove diskEncryptionSet")
	}
	m.OSDisk.DiskSettings.EphemeralStorageLocation = settings.Option
}

func managedTo(p *pass, m *providerSpec, c *infraSpec) {
	d := m.OSDisk.ManagedDisk
	if d == (machinev1beta1.OSDiskManagedDiskParameters{}) {
		return
	}
	at := p.At("osDisk.managedDisk")
	checkStorage(at, d.StorageAccountType)
	checkGuestState(at, string(d.SecurityProfile.SecurityEncryptionType), d.SecurityProfile.DiskEncryptionSet.ID)
	c.OSDisk.ManagedDisk = &azurev1.ManagedDiskParameters{StorageAccountType: d.StorageAccountType, DiskEncryptionSet: encryptionTo(d.DiskEncryptionSet)}
	if d.SecurityProfile == (machinev1beta1.VMDiskSecurityProfile{}) {
		return
	}
	security := &azurev1.VMDiskSecurityProfile{SecurityEncryptionType: azurev1.SecurityEncryptionType(d.SecurityProfile.SecurityEncryptionType)}
	if id := d.SecurityProfile.DiskEncryptionSet.ID; id != "" {
		security.DiskEncryptionSet = &azurev1.DiskEncryptionSetParameters{ID: id}
	}
	c.OSDisk.ManagedDisk.SecurityProfile = security
}

func managedFrom(p *pass, c *infraSpec, m *providerSpec) {
	d := c.OSDisk.ManagedDisk
	if d == nil {
		return
	}
	at, out := p.At("osDisk.managedDisk"), &m.OSDisk.ManagedDisk
	checkStorage(at, d.StorageAccountType)
	out.StorageAccountType, out.DiskEncryptionSet = d.StorageAccountType, encryptionFrom(d.DiskEncryptionSet)
	if d.SecurityProfile == nil {
		return
	}
	out.SecurityProfile.SecurityEncryptionType = machinev1beta1.SecurityEncryptionTypes(d.SecurityProfile.SecurityEncryptionType)
	if d.SecurityProfile.DiskEncryptionSet != nil {
		out.SecurityProfile.DiskEncryptionSet.ID = d.SecurityProfile.DiskEncryptionSet.ID
	}
	checkGuestState(at, string(d.SecurityProfile.SecurityEncryptionType), out.SecurityProfile.DiskEncryptionSet.ID)
}

// storages returns the kinds of storage that Cluster API's webhook accepts for an OS disk. It leaves out UltraSSD, which cannot be an OS disk.
func storages() []string {
	return []string{"Premium_LRS", "PremiumV2_LRS", "Premium_ZRS", "StandardSSD_LRS", "StandardSSD_ZRS", "Standard_LRS"}
}

func checkStorage(p *pass, word string) {
	switch {
	case word == "":
		p.Required("storageAccountType", "set the type of the disk, such as Premium_LRS: managedDisk has another setting, and then it also needs the type")
	case word == ultraSSD:
		p.Invalid("storageAccountType", word, "the OS disk cannot be an UltraSSD, only a data disk can: set another type")
	case !slices.Contains(storages(), word):
		p.Unsupported("storageAccountType", word, fmt.Sprintf("Cluster API accepts only these types of disks: %q. Set one of these types", storages()))
	}
}

func checkGuestState(p *pass, kind, set string) {
	switch {
	case kind != "" && kind != wholeDisk && kind != string(machinev1beta1.SecurityEncryptionTypesVMGuestStateOnly):
		p.Invalid("securityProfile.securityEncryptionType", kind, "supported values: \"DiskWithVMGuestState\", \"VMGuestStateOnly\"")
	case set != "" && kind != wholeDisk:
		p.Invalid("securityProfile.diskEncryptionSet.id", set,
			"a disk encryption set in securityProfile needs securityEncryptionType DiskWithVMGuestState: set this type, or remove diskEncryptionSet")
	}
}

// encryptionTo converts a reference to a disk encryption set. An empty reference does not become nil, because both APIs pass an empty reference to Azure.
func encryptionTo(m *machinev1beta1.DiskEncryptionSetParameters) *azurev1.DiskEncryptionSetParameters {
	if m == nil {
		return nil
	}
	return &azurev1.DiskEncryptionSetParameters{ID: m.ID}
}

func encryptionFrom(c *azurev1.DiskEncryptionSetParameters) *machinev1beta1.DiskEncryptionSetParameters {
	if c == nil {
		return nil
	}
	return &machinev1beta1.DiskEncryptionSetParameters{ID: c.ID}
}

func disksTo(p *pass, m *providerSpec, c *infraSpec) {
	var names once[string]
	var luns once[int32]
	for i := range m.DataDisks {
		at, from, to := p.At(fmt.Sprintf("dataDisks[%d]", i)), &m.DataDisks[i], infraDisk{}
		Disks.ToClusterAPI(at, from, &to)
		names.check(at, "nameSuffix", from.NameSuffix)
		luns.check(at, "lun", from.Lun)
		c.DataDisks = append(c.DataDisks, to)
	}
}

func disksFrom(p *pass, c *infraSpec, m *providerSpec) {
	var names once[string]
	var luns once[int32]
	free := freeLuns(c.DataDisks)
	for i := range c.DataDisks {
		at, from, to := p.At(fmt.Sprintf("dataDisks[%d]", i)), c.DataDisks[i], dataDisk{}
		if from.Lun == nil {
			from.Lun, free = &free[0], free[1:]
		}
		Disks.ToMachineAPI(at, &from, &to)
		names.check(at, "nameSuffix", from.NameSuffix)
		luns.check(at, "lun", to.Lun)
		m.DataDisks = append(m.DataDisks, to)
	}
}

// freeLuns returns the LUNs that the AzureMachine's webhook gives to disks without a LUN, in the webhook's order. The result has at least one LUN for each
// such disk.
func freeLuns(disks []infraDisk) []int32 {
	taken := map[int32]bool{}
	for _, d := range disks {
		if d.Lun != nil {
			taken[*d.Lun] = true
		}
	}
	var out []int32
	for i := range disks {
		if lun := int32(i); !taken[lun] {
			out = append(out, lun)
		}
	}
	return out
}

// once finds a value that occurs twice among a machine's data disks. Its method check reports an error for a value that it has seen before.
type once[T comparable] struct{ seen map[T]bool }

func (o *once[T]) check(p *pass, path string, value T) {
	if o.seen[value] {
		p.Invalid(path, value, "another data disk has the same value: give each data disk a value of its own")
	}
	if o.seen == nil {
		o.seen = map[T]bool{}
	}
	o.seen[value] = true
}

func suffixTo(p *pass, m *dataDisk, c *infraDisk) {
	checkSuffix(p, m.NameSuffix)
	c.NameSuffix = m.NameSuffix
}

func suffixFrom(p *pass, c *infraDisk, m *dataDisk) {
	checkSuffix(p, c.NameSuffix)
	m.NameSuffix = c.NameSuffix
}

var suffix = regexp.MustCompile(`^[a-zA-Z0-9](?:[\w.-]*[a-zA-Z0-9])?$`)

func checkSuffix(p *pass, word string) {
	if !suffix.MatchString(word) || len(word) > 78 {
		p.Invalid("nameSuffix", word, "must have 1 to 78 characters: letters, digits, _, . and -. The first and the last must be a letter or digit")
	}
}

func diskSizeTo(p *pass, m *dataDisk, c *infraDisk) {
	checkDiskSize(p, m.DiskSizeGB)
	c.DiskSizeGB = m.DiskSizeGB
}

func diskSizeFrom(p *pass, c *infraDisk, m *dataDisk) {
	checkDiskSize(p, c.DiskSizeGB)
	m.DiskSizeGB = c.DiskSizeGB
}

func checkDiskSize(p *pass, size int32) {
	switch {
	case size < 4:
		p.Invalid("diskSizeGB", size, "must be at least 4")
	case size > 32767:
		p.Unsupported("diskSizeGB", size,
			"Cluster API accepts at most 32767 GB for a data disk: set a size up to this limit, or leave Machine API authoritative")
	}
}

func lunTo(p *pass, m *dataDisk, c *infraDisk) {
	lun := m.Lun
	checkLun(p, lun)
	c.Lun = &lun
}

func lunFrom(p *pass, c *infraDisk, m *dataDisk) {
	if c.Lun != nil {
		m.Lun = *c.Lun
	}
	checkLun(p, m.Lun)
}

func checkLun(p *pass, lun int32) {
	if lun < 0 || lun > 63 {
		p.Invalid("lun", lun, "must be 0 to 63")
	}
}

func cachingTo(p *pass, m *dataDisk, c *infraDisk) {
	c.CachingType = first(string(m.CachingType), noCache)
	checkCaching(p, c.CachingType, string(m.ManagedDisk.StorageAccountType))
}

func cachingFrom(p *pass, c *infraDisk, m *dataDisk) {
	storage := ""
	if c.ManagedDisk != nil {
		storage = c.ManagedDisk.StorageAccountType
	}
	usual := "ReadWrite"
	if storage == ultraSSD {
		usual = noCache
	}
	word := first(c.CachingType, usual)
	checkCaching(p, word, storage)
	m.CachingType = machinev1beta1.CachingTypeOption(word)
}

func checkCaching(p *pass, word, storage string) {
	switch {
	case !isCaching(word):
		p.Invalid("cachingType", word, cachings)
	case storage == ultraSSD && word != noCache:
		p.Invalid("cachingType", word, "must be None for an UltraSSD")
	}
}

func storageTo(p *pass, m *dataDisk, c *infraDisk) {
	kind := first(string(m.ManagedDisk.StorageAccountType), string(machinev1beta1.StorageAccountPremiumLRS))
	checkDataStorage(p, kind)
	c.ManagedDisk = &azurev1.ManagedDiskParameters{StorageAccountType: kind, DiskEncryptionSet: encryptionTo(m.ManagedDisk.DiskEncryptionSet)}
}

func storageFrom(p *pass, c *infraDisk, m *dataDisk) {
	if c.ManagedDisk == nil || c.ManagedDisk.StorageAccountType == "" {
		p.Required("managedDisk.storageAccountType",
			"set the type of the data disk: if the type is absent, Azure chooses one in Cluster API, but Machine API uses Premium_LRS")
		return
	}
	checkDataStorage(p, c.ManagedDisk.StorageAccountType)
	m.ManagedDisk.StorageAccountType = machinev1beta1.StorageAccountType(c.ManagedDisk.StorageAccountType)
	m.ManagedDisk.DiskEncryptionSet = encryptionFrom(c.ManagedDisk.DiskEncryptionSet)
}

func checkDataStorage(p *pass, word string) {
	switch machinev1beta1.StorageAccountType(word) {
	case machinev1beta1.StorageAccountStandardLRS, machinev1beta1.StorageAccountPremiumLRS, machinev1beta1.StorageAccountUltraSSDLRS:
		return
	}
	p.Unsupported("managedDisk.storageAccountType", word,
		"Machine API accepts only Standard_LRS, Premium_LRS and UltraSSD_LRS for a data disk: set one of these types")
}

func deletionTo(p *pass, m *dataDisk, _ *infraDisk) {
	switch m.DeletionPolicy {
	case machinev1beta1.DiskDeletionPolicyTypeDelete:
	case machinev1beta1.DiskDeletionPolicyTypeDetach:
		p.Unsupported("deletionPolicy", string(m.DeletionPolicy),
			"Cluster API deletes every data disk with its machine: set deletionPolicy to Delete, or leave Machine API authoritative")
	default:
		p.Invalid("deletionPolicy", string(m.DeletionPolicy), "supported values: \"Delete\", \"Detach\"")
	}
}

func deletionFrom(_ *pass, _ *infraDisk, m *dataDisk) {
	m.DeletionPolicy = machinev1beta1.DiskDeletionPolicyTypeDelete
}
