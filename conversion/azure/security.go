// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"
)

// profile has what the security profiles of both APIs have in common. A field whose name ends in At has the path, in the converted object, of the field
// without At.
type profile struct {
	host             *bool
	kind, encryption string
	boot, tpm        *bool

	hostAt, kindAt, encryptionAt, bootAt, tpmAt string

	// untrusted and unencrypted are remedies for messages. They are for a new machine that Cluster API would create without Trusted Launch, or without
	// encryption at the host.
	untrusted, unencrypted string
}

const (
	confidentialVM = string(machinev1beta1.SecurityTypesConfidentialVM)
	trustedLaunch  = string(machinev1beta1.SecurityTypesTrustedLaunch)
	wholeDisk      = string(machinev1beta1.SecurityEncryptionTypesDiskWithVMGuestState)

	encryptionType = "osDisk.managedDisk.securityProfile.securityEncryptionType"
)

func isTrue(b *bool) bool { return b != nil && *b }

// check reports an error for a profile that both APIs refuse. It also reports one for settings that Cluster API's controller would ignore in a new machine.
func (s profile) check(p *pass) {
	switch {
	case s.kind != "" && s.kind != confidentialVM && s.kind != trustedLaunch:
		p.Invalid(s.kindAt, s.kind, "supported values: \"ConfidentialVM\", \"TrustedLaunch\"")
	case s.kind != confidentialVM && s.encryption != "":
		p.Invalid(s.kindAt, s.kind, "must be ConfidentialVM, because the OS disk has a securityEncryptionType")
	case s.kind == trustedLaunch && !isTrue(s.boot) && !isTrue(s.tpm) && !exists(p):
		p.Unsupported(s.kindAt, s.kind, "Cluster API creates a Trusted Launch machine only if secure boot or the vTPM is enabled: "+s.untrusted)
	case s.kind == confidentialVM:
		s.checkConfidential(p)
	}
}

func (s profile) checkConfidential(p *pass) {
	if s.encryption == "" {
		p.Required(s.encryptionAt, "the OS disk of a confidential machine needs a securityEncryptionType: set VMGuestStateOnly or DiskWithVMGuestState")
	}
	if !isTrue(s.tpm) {
		p.Invalid(s.tpmAt, nil, "a confidential machine needs the vTPM: enable it")
	}
	if s.encryption == wholeDisk && !isTrue(s.boot) {
		p.Invalid(s.bootAt, nil, "the OS disk's securityEncryptionType DiskWithVMGuestState needs secure boot: enable it")
	}
	if isTrue(s.host) && !exists(p) {
		p.Unsupported(s.hostAt, true, "Cluster API ignores encryptionAtHost when it creates a confidential machine: "+s.unencrypted)
	}
}

func securityTo(p *pass, m *providerSpec, c *infraSpec) {
	out := profile{
		encryption: string(m.OSDisk.ManagedDisk.SecurityProfile.SecurityEncryptionType), encryptionAt: encryptionType,
		hostAt: "securityProfile.encryptionAtHost", kindAt: "securityProfile.settings.securityType",
		untrusted: "set one of the two to Enabled, or leave Machine API authoritative for new machines. Machines that have an instance can move as they " +
			"are",
		unencrypted: "set encryptionAtHost to false, or leave Machine API authoritative for new machines. Machines that have an instance can move as they " +
			"are",
	}
	if m.SecurityProfile != nil {
		out.host, out.kind = m.SecurityProfile.EncryptionAtHost, string(m.SecurityProfile.Settings.SecurityType)
		if !out.settings(p, m.SecurityProfile.Settings) {
			return
		}
	}
	out.check(p)
	if out.host == nil && out.kind == "" {
		return
	}
	c.SecurityProfile = &azurev1.SecurityProfile{EncryptionAtHost: out.host, SecurityType: azurev1.SecurityTypes(out.kind)}
	if out.kind != "" {
		c.SecurityProfile.UefiSettings = &azurev1.UefiSettings{SecureBootEnabled: out.boot, VTpmEnabled: out.tpm}
	}
}

// settings reads the settings of the security type into s. It reports an error and returns false if they are missing, invalid, or of another type.
func (s *profile) settings(p *pass, m machinev1beta1.SecuritySettings) bool {
	var uefi *machinev1beta1.UEFISettings
	at := p.At("securityProfile.settings")
	if m.ConfidentialVM != nil {
		uefi = s.member(at, confidentialVM, "confidentialVM", &m.ConfidentialVM.UEFISettings)
	}
	if m.TrustedLaunch != nil {
		uefi = s.member(at, trustedLaunch, "trustedLaunch", &m.TrustedLaunch.UEFISettings)
	}
	switch {
	case m.ConfidentialVM != nil && s.kind != confidentialVM || m.TrustedLaunch != nil && s.kind != trustedLaunch:
		return false
	case s.kind == confidentialVM && uefi == nil:
		at.Required("confidentialVM", "securityType ConfidentialVM needs the settings in confidentialVM: set them")
		return false
	case s.kind == trustedLaunch && uefi == nil:
		at.Required("trustedLaunch", "securityType TrustedLaunch needs the settings in trustedLaunch: set them")
		return false
	case uefi == nil:
		return true
	}
	return s.uefi(p, uefi)
}

// member returns the settings of one security type (kind), and sets their paths in s. If the security type of s is another one, it reports an error and
// returns nil.
func (s *profile) member(p *pass, kind, field string, uefi *machinev1beta1.UEFISettings) *machinev1beta1.UEFISettings {
	if s.kind != kind {
		p.Invalid(field, nil, "this field is for another securityType: remove the field, or set securityType to "+kind)
		return nil
	}
	path := "securityProfile.settings." + field + ".uefiSettings."
	s.bootAt, s.tpmAt = path+"secureBoot", path+"virtualizedTrustedPlatformModule"
	return uefi
}

func (s *profile) uefi(p *pass, m *machinev1beta1.UEFISettings) bool {
	var boot, tpm bool
	s.boot, boot = enabled(p, s.bootAt, string(m.SecureBoot))
	s.tpm, tpm = enabled(p, s.tpmAt, string(m.VirtualizedTrustedPlatformModule))
	return boot && tpm
}

func enabled(p *pass, path, word string) (value *bool, ok bool) {
	on, off := true, false
	switch word {
	case "":
		return nil, true
	case "Enabled":
		return &on, true
	case "Disabled":
		return &off, true
	}
	p.Invalid(path, word, "supported values: \"Disabled\", \"Enabled\"")
	return nil, false
}

func securityFrom(p *pass, c *infraSpec, m *providerSpec) {
	in := profile{
		encryptionAt: encryptionType, hostAt: "securityProfile.encryptionAtHost", kindAt: "securityProfile.securityType",
		bootAt: "securityProfile.uefiSettings.secureBootEnabled", tpmAt: "securityProfile.uefiSettings.vTpmEnabled",
		untrusted: "set secureBootEnabled or vTpmEnabled to true, or leave securityType and uefiSettings out, because Cluster API creates this machine " +
			"without them",
		unencrypted: "remove encryptionAtHost, because Cluster API creates this machine without it",
	}
	if d := c.OSDisk.ManagedDisk; d != nil && d.SecurityProfile != nil {
		in.encryption = string(d.SecurityProfile.SecurityEncryptionType)
	}
	if s := c.SecurityProfile; s != nil {
		in.host, in.kind = s.EncryptionAtHost, string(s.SecurityType)
		if s.UefiSettings != nil {
			in.boot, in.tpm = s.UefiSettings.SecureBootEnabled, s.UefiSettings.VTpmEnabled
		}
		if s.UefiSettings != nil && in.kind == "" {
			p.Invalid("securityProfile.uefiSettings", nil, "Azure ignores uefiSettings without a securityType: set securityType, or remove uefiSettings")
			return
		}
	}
	in.check(p)
	if in.host != nil || in.kind != "" {
		m.SecurityProfile = in.machineAPI()
	}
}

func (s profile) machineAPI() *machinev1beta1.SecurityProfile {
	out := &machinev1beta1.SecurityProfile{EncryptionAtHost: s.host, Settings: machinev1beta1.SecuritySettings{SecurityType: machinev1beta1.SecurityTypes(s.kind)}}
	uefi := machinev1beta1.UEFISettings{
		SecureBoot:                       machinev1beta1.SecureBootPolicy(word(s.boot)),
		VirtualizedTrustedPlatformModule: machinev1beta1.VirtualizedTrustedPlatformModulePolicy(word(s.tpm)),
	}
	switch s.kind {
	case confidentialVM:
		out.Settings.ConfidentialVM = &machinev1beta1.ConfidentialVM{UEFISettings: uefi}
	case trustedLaunch:
		out.Settings.TrustedLaunch = &machinev1beta1.TrustedLaunch{UEFISettings: uefi}
	}
	return out
}

func word(enabled *bool) string {
	switch {
	case enabled == nil:
		return ""
	case *enabled:
		return "Enabled"
	}
	return "Disabled"
}
