// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"encoding/base64"
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	azurev1 "sigs.k8s.io/cluster-api-provider-azure/api/v1beta1"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/azuresizes"
)

func nothing(*pass, *providerSpec, *infraSpec)     {}
func nothingBack(*pass, *infraSpec, *providerSpec) {}

// text returns the string behind a pointer, "" for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// sizeTo writes the name of the size exactly as Azure lists it, because Cluster API's provider looks for this name in Azure's list. If the provider does not
// find the name, it fails the Machine for good, even a Machine that runs. A providerSpec may have another spelling: Azure accepts a name in any case, and
// Machine API's webhook fills in Standard_D4s_V3.
func sizeTo(p *pass, m *providerSpec, c *infraSpec) {
	if c.VMSize = azuresizes.Listed(m.VMSize); c.VMSize == "" {
		p.Required("vmSize", "name one of Azure's sizes, such as Standard_D4s_v3")
	}
}

func sizeFrom(p *pass, c *infraSpec, m *providerSpec) {
	if m.VMSize = c.VMSize; m.VMSize == "" {
		p.Required("vmSize", "name one of Azure's sizes, such as Standard_D4s_v3")
	}
}

func zoneTo(p *pass, m *providerSpec, _ *infraSpec) {
	p.Core.FailureDomain = m.Zone
	if m.AvailabilitySet == "" { // a given availability set has an error of its own
		availabilitySet(p, p, "zone", m.Zone, m.SpotVMOptions != nil)
	}
}

// availabilitySet reports an error for a MachineSet without a zone if the AzureCluster lists no zones. In a region without zones, each API puts a
// MachineSet's new machines into an availability set, but the two APIs give the availability set different names. Cluster API assumes that a region has no
// zones if the AzureCluster's status lists none, and OpenShift's operator lists none. A Machine that exists stays where it is, so it is not checked.
func availabilitySet(p, at *pass, path, zone string, spot bool) {
	domains, _, _ := unstructured.NestedFieldNoCopy(p.Env.InfraCluster, "status", "failureDomains")
	known, _ := domains.(map[string]any)
	if p.Core.Template && zone == "" && !spot && p.Env.InfraCluster != nil && len(known) == 0 {
		at.Command(path, zone,
			"Cluster API would put new machines without a zone into an availability set of its own. Name a zone. In a region without zones, leave Machine "+
				"API authoritative for the MachineSet; its Machines can move without the MachineSet. In a region with zones, Machine API uses no "+
				"availability set: list the zones in the AzureCluster, so that Cluster API uses none either",
			fmt.Sprintf("kubectl patch %s --subresource=status --type=merge -p %s", p.InfraCluster(),
				conversion.Quoted(`{"status":{"failureDomains":{"1":{},"2":{},"3":{}}}}`)),
			"Edit status.failureDomains of the AzureCluster")
	}
}

func zoneFrom(p *pass, c *infraSpec, m *providerSpec) {
	machine, own := p.Core.FailureDomain, text(c.FailureDomain)
	switch {
	case c.FailureDomain != nil && own == "":
		p.Invalid("failureDomain", "", "must not be empty: name the zone, or remove failureDomain")
	case own != "" && machine != "" && own != machine:
		p.Differs("failureDomain", own, "the Machine's spec.failureDomain, which takes precedence", machine)
	}
	m.Zone = first(machine, own)
	availabilitySet(p, p.Under("spec.template.spec"), "failureDomain", m.Zone, c.SpotVMOptions != nil)
}

const noReservation = "must be a resource id: /subscriptions/…/resourceGroups/…/providers/Microsoft.Compute/capacityReservationGroups/NAME"

func reservationTo(p *pass, m *providerSpec, c *infraSpec) {
	switch {
	case m.CapacityReservationGroupID == "":
	case !isResource(strings.TrimPrefix(m.CapacityReservationGroupID, scheme), "Microsoft.Compute", "capacityReservationGroups"):
		p.Invalid("capacityReservationGroupID", m.CapacityReservationGroupID, noReservation)
	default:
		c.CapacityReservationGroupID = &m.CapacityReservationGroupID
	}
}

func reservationFrom(p *pass, c *infraSpec, m *providerSpec) {
	switch {
	case c.CapacityReservationGroupID == nil:
	case !isResource(strings.TrimPrefix(*c.CapacityReservationGroupID, scheme), "Microsoft.Compute", "capacityReservationGroups"):
		p.Invalid("capacityReservationGroupID", *c.CapacityReservationGroupID, noReservation)
	default:
		m.CapacityReservationGroupID = *c.CapacityReservationGroupID
	}
}

// scheme precedes a resource ID in a provider ID.
const scheme = "azure://"

// isResource reports whether a text is the full ID of a resource of this kind. It ignores case, as Azure does.
func isResource(id, provider, kind string) bool {
	parts := strings.Split(id, "/")
	if len(parts) != 9 {
		return false
	}
	for i, word := range []string{"", "subscriptions", "*", "resourceGroups", "*", "providers", provider, kind, "*"} {
		if word == "*" && parts[i] == "" || word != "*" && !strings.EqualFold(parts[i], word) {
			return false
		}
	}
	return true
}

func identityTo(p *pass, m *providerSpec, c *infraSpec) {
	c.Identity = azurev1.VMIdentityNone
	switch id := m.ManagedIdentity; {
	case id == "":
		return
	case isIdentity(id):
		c.UserAssignedIdentities = []azurev1.UserAssignedIdentity{{ProviderID: scheme + id}}
	case strings.Contains(id, "/"):
		p.Invalid("managedIdentity", id, noIdentity)
	case subscription(p) == "":
		p.Unsupported("managedIdentity", id, "Cluster API accepts an identity only by its resource id. Give the identity's resource id, or set the "+
			"subscription"+unknownSubscription(p))
	case subscription(p) == "" || resourceGroup(p) == "":
		p.Unsupported("managedIdentity", id,
			"Cluster API accepts an identity only by its resource id. The conversion cannot complete the id, because neither the AzureCluster nor "+
				"ConfigMap openshift-config/cloud-provider-config has the cluster's subscription and resource group. Give the identity's resource id")
	default:
		c.UserAssignedIdentities = []azurev1.UserAssignedIdentity{{ProviderID: identityNamed(p, id)}}
	}
	c.Identity = azurev1.VMIdentityUserAssigned
}

const noIdentity = "must be an identity's name or its resource id: " +
	"/subscriptions/…/resourceGroups/…/providers/Microsoft.ManagedIdentity/userAssignedIdentities/NAME"

func isIdentity(id string) bool {
	return isResource(id, "Microsoft.ManagedIdentity", "userAssignedIdentities")
}

func identityNamed(p *pass, name string) string {
	return fmt.Sprintf("%s/subscriptions/%s/resourceGroups/%s/providers/Microsoft.ManagedIdentity/userAssignedIdentities/%s",
		scheme, subscription(p), resourceGroup(p), name)
}

func identityFrom(p *pass, c *infraSpec, m *providerSpec) {
	ids := c.UserAssignedIdentities
	switch c.Identity {
	case azurev1.VMIdentityNone, "":
		if len(ids) > 0 {
			p.Invalid("userAssignedIdentities", nil,
				"only identity UserAssigned can have userAssignedIdentities: set identity to UserAssigned, or remove userAssignedIdentities")
		}
	case azurev1.VMIdentityUserAssigned:
		switch len(ids) {
		case 0:
			p.Required("userAssignedIdentities",
				"identity UserAssigned needs an entry in userAssignedIdentities: name the identity there, or remove the field identity")
		case 1:
			m.ManagedIdentity = identityBack(p, ids[0].ProviderID)
		default:
			p.Unsupported("userAssignedIdentities", len(ids),
				"Machine API gives a machine only one identity: keep one of these identities, and remove the others")
		}
	case azurev1.VMIdentitySystemAssigned:
		p.Unsupported("identity", string(c.Identity), noSystemID)
	default:
		p.Invalid("identity", string(c.Identity), "supported values: \"None\", \"UserAssigned\"")
	}
}

// identityBack returns the name of an identity if the name converts back to exactly the same provider ID, otherwise the identity's resource ID. The provider
// ID must stay exactly the same, because an AzureMachine's identities are immutable.
func identityBack(p *pass, providerID string) string {
	id, ok := strings.CutPrefix(providerID, scheme)
	if !ok || !isIdentity(id) {
		p.Invalid("userAssignedIdentities[0].providerID", providerID, "must be azure:// followed by the resource id of an identity")
		return ""
	}
	if name := id[strings.LastIndex(id, "/")+1:]; identityNamed(p, name) == providerID {
		return name
	}
	return id
}

func sshTo(p *pass, m *providerSpec, c *infraSpec) {
	checkKey(p, m.SSHPublicKey)
	c.SSHPublicKey = m.SSHPublicKey
}

func sshFrom(p *pass, c *infraSpec, m *providerSpec) {
	checkKey(p, c.SSHPublicKey)
	m.SSHPublicKey = c.SSHPublicKey
}

// checkKey reports an error for an SSH key that the AzureMachine's webhook would refuse. Unlike the webhook, it does not check what the base64 text of the
// key contains.
func checkKey(p *pass, key string) {
	if key == "" {
		return
	}
	line, err := base64.StdEncoding.DecodeString(key)
	if words := strings.Fields(string(line)); err == nil && len(words) >= 2 {
		if _, err = base64.StdEncoding.DecodeString(words[1]); err == nil {
			return
		}
	}
	p.Invalid("sshPublicKey", key, "must be a public key in base64. Before the encoding, the key is a line as in authorized_keys: ssh-rsa AAAA…")
}

func ultraTo(p *pass, m *providerSpec, c *infraSpec) {
	var enabled bool
	switch m.UltraSSDCapability {
	case "":
		return
	case machinev1beta1.AzureUltraSSDCapabilityEnabled:
		enabled = true
	case machinev1beta1.AzureUltraSSDCapabilityDisabled:
	default:
		p.Invalid("ultraSSDCapability", string(m.UltraSSDCapability), "supported values: \"Disabled\", \"Enabled\"")
		return
	}
	c.AdditionalCapabilities = &azurev1.AdditionalCapabilities{UltraSSDEnabled: &enabled}
}

func ultraFrom(_ *pass, c *infraSpec, m *providerSpec) {
	switch {
	case c.AdditionalCapabilities == nil || c.AdditionalCapabilities.UltraSSDEnabled == nil:
	case *c.AdditionalCapabilities.UltraSSDEnabled:
		m.UltraSSDCapability = machinev1beta1.AzureUltraSSDCapabilityEnabled
	default:
		m.UltraSSDCapability = machinev1beta1.AzureUltraSSDCapabilityDisabled
	}
}

func spotTo(_ *pass, m *providerSpec, c *infraSpec) {
	if m.SpotVMOptions == nil {
		return
	}
	policy := azurev1.SpotEvictionPolicyDelete
	c.SpotVMOptions = &azurev1.SpotVMOptions{EvictionPolicy: &policy}
	if price := m.SpotVMOptions.MaxPrice; price != nil {
		own := price.DeepCopy()
		c.SpotVMOptions.MaxPrice = &own
	}
}

func spotFrom(p *pass, c *infraSpec, m *providerSpec) {
	spot := c.SpotVMOptions
	if spot == nil {
		return
	}
	switch {
	case spot.EvictionPolicy == nil && c.OSDisk.DiffDiskSettings == nil:
		p.Unsupported("spotVMOptions.evictionPolicy", nil,
			"Machine API deletes a spot machine that Azure evicts, but an absent evictionPolicy means Deallocate: set it to Delete")
	case spot.EvictionPolicy != nil && *spot.EvictionPolicy != azurev1.SpotEvictionPolicyDelete:
		p.Unsupported("spotVMOptions.evictionPolicy", string(*spot.EvictionPolicy),
			"Machine API deletes a spot machine that Azure evicts: set evictionPolicy to Delete")
	}
	m.SpotVMOptions = &machinev1beta1.SpotVMOptions{}
	if spot.MaxPrice != nil {
		own := spot.MaxPrice.DeepCopy()
		m.SpotVMOptions.MaxPrice = &own
	}
}

func diagnosticsTo(p *pass, m *providerSpec, c *infraSpec) {
	boot := &azurev1.BootDiagnostics{StorageAccountType: azurev1.DisabledDiagnosticsStorage}
	if m.Diagnostics.Boot != nil {
		bootTo(p.At("diagnostics.boot"), m.Diagnostics.Boot, boot)
	}
	c.Diagnostics = &azurev1.Diagnostics{Boot: boot}
}

func bootTo(p *pass, m *machinev1beta1.AzureBootDiagnostics, c *azurev1.BootDiagnostics) {
	switch m.StorageAccountType {
	case machinev1beta1.AzureManagedAzureDiagnosticsStorage:
		c.StorageAccountType = azurev1.ManagedDiagnosticsStorage
		if m.CustomerManaged != nil {
			p.Invalid("customerManaged", nil, "customerManaged is only for storageAccountType CustomerManaged: set this type, or remove customerManaged")
		}
	case machinev1beta1.CustomerManagedAzureDiagnosticsStorage:
		c.StorageAccountType = azurev1.UserManagedDiagnosticsStorage
		if m.CustomerManaged == nil {
			p.Required("customerManaged", "storageAccountType CustomerManaged needs a storage account: set customerManaged")
			return
		}
		checkAccount(p, "customerManaged.storageAccountURI", m.CustomerManaged.StorageAccountURI)
		c.UserManaged = &azurev1.UserManagedBootDiagnostics{StorageAccountURI: m.CustomerManaged.StorageAccountURI}
	default:
		p.Invalid("storageAccountType", string(m.StorageAccountType), "supported values: \"AzureManaged\", \"CustomerManaged\"")
	}
}

func checkAccount(p *pass, path, uri string) {
	if !strings.HasPrefix(uri, "https://") || len(uri) > 1024 {
		p.Invalid(path, uri, "must begin with https:// and have at most 1024 characters")
	}
}

func diagnosticsFrom(p *pass, c *infraSpec, m *providerSpec) {
	boot := &azurev1.BootDiagnostics{StorageAccountType: azurev1.ManagedDiagnosticsStorage}
	if c.Diagnostics != nil && c.Diagnostics.Boot != nil {
		boot = c.Diagnostics.Boot
	}
	m.Diagnostics.Boot = bootFrom(p.At("diagnostics.boot"), boot)
}

func bootFrom(p *pass, c *azurev1.BootDiagnostics) *machinev1beta1.AzureBootDiagnostics {
	if c.UserManaged != nil && c.StorageAccountType != azurev1.UserManagedDiagnosticsStorage {
		p.Invalid("userManaged", nil, "userManaged is only for storageAccountType UserManaged: set this type, or remove userManaged")
	}
	switch c.StorageAccountType {
	case azurev1.DisabledDiagnosticsStorage:
	case azurev1.ManagedDiagnosticsStorage:
		return &machinev1beta1.AzureBootDiagnostics{StorageAccountType: machinev1beta1.AzureManagedAzureDiagnosticsStorage}
	case azurev1.UserManagedDiagnosticsStorage:
		if c.UserManaged == nil {
			p.Required("userManaged", "storageAccountType UserManaged needs a storage account: set userManaged")
			return nil
		}
		checkAccount(p, "userManaged.storageAccountURI", c.UserManaged.StorageAccountURI)
		return &machinev1beta1.AzureBootDiagnostics{
			StorageAccountType: machinev1beta1.CustomerManagedAzureDiagnosticsStorage,
			CustomerManaged:    &machinev1beta1.AzureCustomerManagedBootDiagnostics{StorageAccountURI: c.UserManaged.StorageAccountURI},
		}
	default:
		p.Invalid("storageAccountType", string(c.StorageAccountType), "supported values: \"Disabled\", \"Managed\", \"UserManaged\"")
	}
	return nil
}

func providerIDTo(p *pass, _ *providerSpec, c *infraSpec) {
	if p.Core.ProviderID != "" {
		c.ProviderID = &p.Core.ProviderID
	}
}

func providerIDFrom(p *pass, c *infraSpec, _ *providerSpec) {
	switch id := text(c.ProviderID); {
	case id == "":
	case p.Core.Template:
		p.Unsupported("providerID", id, "a template has no instance, and so no provider id: remove it")
	case p.Core.ProviderID == "":
		p.Core.ProviderID = id
	case id != p.Core.ProviderID:
		p.Differs("providerID", id, "the Machine's spec.providerID", p.Core.ProviderID)
	}
}

func extensionsTo(_ *pass, _ *providerSpec, c *infraSpec) {
	disabled := true
	c.DisableExtensionOperations = &disabled
}

func extensionsFrom(p *pass, c *infraSpec, _ *providerSpec) {
	switch off := c.DisableExtensionOperations; {
	case off == nil:
		p.Required("disableExtensionOperations", "Machine API installs no virtual machine extensions: set disableExtensionOperations to true")
	case !*off:
		p.Unsupported("disableExtensionOperations", false, "Machine API installs no virtual machine extensions: set disableExtensionOperations to true")
	}
}

func userDataTo(p *pass, m *providerSpec, _ *infraSpec) {
	secret := ptr.Deref(m.UserDataSecret, corev1.SecretReference{})
	p.UserData(secret.Name)
	p.OwnNamespace("userDataSecret.namespace", secret.Namespace)
}

func userDataFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if secret := p.UserDataBack(); secret != "" {
		m.UserDataSecret = &corev1.SecretReference{Name: secret}
	}
}

func credentialsTo(p *pass, m *providerSpec, _ *infraSpec) {
	ref := m.CredentialsSecret
	if ref == nil {
		return
	}
	p.OwnCredentials(ref.Name)
	p.OwnNamespace("credentialsSecret.namespace", ref.Namespace)
}

func credentialsFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if name := p.Env.Credentials(); name != "" {
		m.CredentialsSecret = &corev1.SecretReference{Name: name, Namespace: p.Env.MachineAPINamespace}
	}
}
