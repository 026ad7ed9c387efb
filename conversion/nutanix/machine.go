// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	"fmt"
	"math"

	machinev1 "github.com/openshift/api/machine/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func nothing(*pass, *providerSpec, *infraSpec)     {}
func nothingBack(*pass, *infraSpec, *providerSpec) {}

func atLeastOne(p *pass, path string, n int32) int32 {
	if n < 1 {
		p.Invalid(path, n, "must be at least 1")
	}
	return n
}

func sized(p *pass, path string, q resource.Quantity, least string) resource.Quantity {
	if q.Cmp(resource.MustParse(least)) < 0 {
		p.Unsupported(path, q.String(), "Cluster API's controller accepts at least "+least+": set a size that is large enough")
	}
	return q
}

func categoriesTo(p *pass, m *providerSpec, c *infraSpec) {
	seen := map[string]bool{}
	for i, k := range m.Categories {
		checkCategory(p.At(fmt.Sprintf("categories[%d]", i)), k.Key, k.Value, seen)
		c.AdditionalCategories = append(c.AdditionalCategories, CategoryIdentifier(k))
	}
	if own := ownCategory(p); !seen[own.Key] {
		c.AdditionalCategories = append(c.AdditionalCategories, own)
	}
}

// categoriesFrom is the reverse of categoriesTo. It leaves out the cluster's own category only where categoriesTo adds it, at the end: the order in the
// providerSpec is its owner's, and in another order the template would be another one.
func categoriesFrom(p *pass, c *infraSpec, m *providerSpec) {
	seen := map[string]bool{}
	for i, k := range c.AdditionalCategories {
		checkCategory(p.At(fmt.Sprintf("additionalCategories[%d]", i)), k.Key, k.Value, seen)
		if k != ownCategory(p) || i < len(c.AdditionalCategories)-1 {
			m.Categories = append(m.Categories, machinev1.NutanixCategory(k))
		}
	}
}

// ownCategory returns the category that Machine API gives to each VM and by which an uninstall finds the VM. Cluster API's controller gives a VM another
// category.
func ownCategory(p *pass) CategoryIdentifier {
	return CategoryIdentifier{Key: "kubernetes-io-cluster-" + p.Env.ClusterName, Value: "owned"}
}

func checkCategory(p *pass, key, value string, seen map[string]bool) {
	const most = 64
	switch own := ownCategory(p); {
	case key == "" || len(key) > most:
		p.Invalid("key", key, "must have 1 to 64 characters")
	case seen[key]:
		p.Unsupported("key", key, "Machine API accepts each key of a category only once, but this key is listed twice: remove one of the two")
	case value == "" || len(value) > most:
		p.Invalid("value", value, "must have 1 to 64 characters")
	case key == own.Key && value != own.Value:
		p.Differs("value", value, "the value that Machine API sets for this category on every virtual machine", own.Value)
	}
	seen[key] = true
}

func gpusTo(p *pass, m *providerSpec, c *infraSpec) {
	for i, g := range m.GPUs {
		at, out := p.At(fmt.Sprintf("gpus[%d]", i)), GPU{Name: notEmpty(g.Name)}
		if g.DeviceID != nil {
			id := int64(*g.DeviceID)
			out.DeviceID = &id
		}
		switch g.Type {
		case machinev1.NutanixGPUIdentifierName:
			out.Type = "name"
		case machinev1.NutanixGPUIdentifierDeviceID:
			out.Type = "deviceID"
		default:
			at.Invalid("type", string(g.Type), "must be Name or DeviceID")
			continue
		}
		checkGPU(at, out)
		c.GPUs = append(c.GPUs, out)
	}
}

func gpusFrom(p *pass, c *infraSpec, m *providerSpec) {
	for i, g := range c.GPUs {
		at, out := p.At(fmt.Sprintf("gpus[%d]", i)), machinev1.NutanixGPU{Name: g.Name}
		switch g.Type {
		case "name":
			out.Type = machinev1.NutanixGPUIdentifierName
		case "deviceID":
			out.Type = machinev1.NutanixGPUIdentifierDeviceID
		default:
			at.Invalid("type", g.Type, "must be name or deviceID")
			continue
		}
		checkGPU(at, g)
		if g.DeviceID != nil {
			id := int32(*g.DeviceID) // checkGPU has reported an ID that does not fit
			out.DeviceID = &id
		}
		m.GPUs = append(m.GPUs, out)
	}
}

// checkGPU reports an error unless a GPU has exactly the member that its type names. A GPU with both members would be ambiguous, because Cluster API's
// controller uses the ID even if the type is name.
func checkGPU(p *pass, g GPU) {
	byName := g.Type == "name"
	switch {
	case byName && text(g.Name) == "":
		p.Required("name", "the type of the GPU is name, so a name is required: set name")
	case byName && g.DeviceID != nil:
		p.Invalid("deviceID", *g.DeviceID, "the type of the GPU is name, so a device id is not allowed: remove deviceID")
	case !byName && g.DeviceID == nil:
		p.Required("deviceID", "the type of the GPU is deviceID, so a device id is required: set deviceID")
	case !byName && g.Name != nil:
		p.Invalid("name", *g.Name, "the type of the GPU is deviceID, so a name is not allowed: remove name")
	case g.DeviceID != nil && (*g.DeviceID > math.MaxInt32 || *g.DeviceID < math.MinInt32):
		p.Unsupported("deviceID", *g.DeviceID,
			"this device id does not fit into Machine API's field, which has 32 bits: set type to name, and give the GPU's name instead")
	}
}

func userDataTo(p *pass, m *providerSpec, _ *infraSpec) {
	secret := ptr.Deref(m.UserDataSecret, corev1.LocalObjectReference{})
	p.UserData(secret.Name)
	if secret.Name != "" && p.Core.BootsWindows() {
		p.Unsupported("userDataSecret.name", secret.Name,
			"a Windows machine needs Sysprep, which Machine API provides, but Cluster API's provider supports only cloud-init: leave Machine API "+
				"authoritative for the MachineSet")
	}
}

func userDataFrom(p *pass, c *infraSpec, m *providerSpec) {
	secret := p.UserDataBack()
	if secret != "" {
		m.UserDataSecret = &corev1.LocalObjectReference{Name: secret}
	}
	ref := c.BootstrapRef
	switch {
	case ref == nil:
	case p.Core.Template:
		p.Unsupported("bootstrapRef", ref.Name, "a template has no bootstrapRef, because each of its machines has bootstrap data of its own: remove it")
	case ref.Kind != "Secret" || ref.APIVersion != "" && ref.APIVersion != "v1":
		p.Unsupported("bootstrapRef.kind", ref.Kind, "Machine API takes its user data only from a Secret: set bootstrapRef.kind to Secret")
	case ref.Name != secret:
		p.Differs("bootstrapRef.name", ref.Name, "the Machine's spec.bootstrap.dataSecretName", secret)
	case ref.Namespace != "" && ref.Namespace != p.Env.ClusterAPINamespace:
		p.Differs("bootstrapRef.namespace", ref.Namespace, "the Machine's namespace", p.Env.ClusterAPINamespace)
	}
}

func credentialsTo(p *pass, m *providerSpec, _ *infraSpec) {
	if m.CredentialsSecret != nil {
		p.OwnCredentials(m.CredentialsSecret.Name)
	}
}

func credentialsFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if name := p.Env.Credentials(); name != "" {
		m.CredentialsSecret = &corev1.LocalObjectReference{Name: name}
	}
}
