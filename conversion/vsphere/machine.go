// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	vspherev1 "sigs.k8s.io/cluster-api-provider-vsphere/apis/v1beta1"
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

func templateTo(p *pass, m *providerSpec, c *infraSpec) { c.Template = template(p, m.Template) }

func templateFrom(p *pass, c *infraSpec, m *providerSpec) { m.Template = template(p, c.Template) }

// uuid matches a template's name that Cluster API's controllers would take for the template's UUID.
var uuid = regexp.MustCompile(`(?i)^(urn:uuid:)?\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?$`)

func template(p *pass, name string) string {
	switch {
	case name == "":
		p.Required("template", "neither API creates a virtual machine without a template: name the template")
	case uuid.MatchString(name):
		p.Unsupported("template", name,
			"Machine API's controllers find a template by its name or inventory path, but Cluster API's controllers would read this value as a UUID: give "+
				"the inventory path")
	}
	return name
}

const oneCloneMode = `supported values: "fullClone", "linkedClone"`

func cloneModeTo(p *pass, m *providerSpec, c *infraSpec) {
	switch m.CloneMode {
	case "", machinev1beta1.FullClone:
		c.CloneMode = vspherev1.FullClone
	case machinev1beta1.LinkedClone:
		c.CloneMode = vspherev1.LinkedClone
	default:
		p.Unsupported("cloneMode", string(m.CloneMode), oneCloneMode)
	}
}

func cloneModeFrom(p *pass, c *infraSpec, m *providerSpec) {
	switch c.CloneMode {
	case vspherev1.FullClone:
		m.CloneMode = machinev1beta1.FullClone
	case "", vspherev1.LinkedClone:
		m.CloneMode = machinev1beta1.LinkedClone
	default:
		p.Unsupported("cloneMode", string(c.CloneMode), oneCloneMode)
	}
}

func diskTo(p *pass, m *providerSpec, c *infraSpec) {
	c.DiskGiB = diskSize(p, m.DiskGiB, m.CloneMode == machinev1beta1.LinkedClone)
}

func diskFrom(p *pass, c *infraSpec, m *providerSpec) {
	m.DiskGiB = diskSize(p, c.DiskGiB, c.CloneMode == "" || c.CloneMode == vspherev1.LinkedClone)
}

func diskSize(p *pass, size int32, linked bool) int32 {
	switch {
	case size < 0:
		p.Invalid("diskGiB", size, "must not be negative")
	case size == 0 && !linked:
		p.Required("diskGiB", "Machine API's controllers create no fullClone without diskGiB: give the size of the template's disk, or a larger one")
	}
	return size
}

// These are the values that Cluster API's controllers use if a machine names a smaller number or none. The controllers do not read them from the template.
const (
	leastCPUs     = 2
	defaultMemory = 2048
)

func cpusTo(p *pass, m *providerSpec, c *infraSpec) {
	switch {
	case m.NumCPUs == 0:
		p.Required("numCPUs", "without numCPUs, Machine API uses the number of CPUs of the template, but Cluster API would use 2: give the template's number")
	case m.NumCPUs < leastCPUs:
		p.Unsupported("numCPUs", m.NumCPUs, fmt.Sprintf(
			"Cluster API creates no machine with fewer than %d CPUs: set numCPUs to this number, or to a larger one", leastCPUs))
	}
	c.NumCPUs = m.NumCPUs
}

func cpusFrom(_ *pass, c *infraSpec, m *providerSpec) { m.NumCPUs = max(c.NumCPUs, leastCPUs) }

// perSocketTo and perSocketFrom refuse a negative number, which the provider's webhook does not, but vSphere does.
func perSocketTo(p *pass, m *providerSpec, c *infraSpec) {
	if c.NumCoresPerSocket = m.NumCoresPerSocket; m.NumCoresPerSocket < 0 {
		p.Invalid("numCoresPerSocket", m.NumCoresPerSocket, "must not be negative")
	}
}

func perSocketFrom(p *pass, c *infraSpec, m *providerSpec) {
	if m.NumCoresPerSocket = c.NumCoresPerSocket; c.NumCoresPerSocket < 0 {
		p.Invalid("numCoresPerSocket", c.NumCoresPerSocket, "must not be negative")
	}
}

func memoryTo(p *pass, m *providerSpec, c *infraSpec) {
	switch {
	case m.MemoryMiB == 0:
		p.Required("memoryMiB", fmt.Sprintf(
			"without memoryMiB, Machine API uses the memory size of the template, but Cluster API would use %d: give the template's size",
			defaultMemory))
	case m.MemoryMiB < 0:
		p.Invalid("memoryMiB", m.MemoryMiB, "must not be negative")
	}
	c.MemoryMiB = m.MemoryMiB
}

func memoryFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.MemoryMiB < 0 {
		p.Invalid("memoryMiB", c.MemoryMiB, "must not be negative")
	}
	m.MemoryMiB = c.MemoryMiB
	if m.MemoryMiB == 0 {
		m.MemoryMiB = defaultMemory
	}
}

// defaultName is Cluster API's default name of a virtual machine.
const defaultName = "{{ .machine.name }}"

// stealClock is the VMX key with which a guest can see its steal time, and enabled is the key's value.
const (
	stealClock = "stealclock.enable"
	enabled    = "TRUE"
)

func keysTo(_ *pass, _ *providerSpec, c *infraSpec) {
	c.CustomVMXKeys = map[string]string{stealClock: enabled}
}

func keysFrom(p *pass, c *infraSpec, _ *providerSpec) {
	if _, given := c.CustomVMXKeys[stealClock]; !given {
		p.Required(vmxKey(stealClock), "Machine API sets this key to TRUE on each virtual machine: set the same value")
	}
	for _, key := range slices.Sorted(maps.Keys(c.CustomVMXKeys)) {
		switch value := c.CustomVMXKeys[key]; {
		case key != stealClock:
			p.Unsupported(vmxKey(key), value, "Machine API cannot set this VMX key: remove it")
		case value != enabled:
			p.Unsupported(vmxKey(key), value, "Machine API sets this key to TRUE on each virtual machine: set the same value")
		}
	}
}

func vmxKey(key string) string { return "customVMXKeys[" + key + "]" }

func tagsTo(p *pass, m *providerSpec, c *infraSpec) { c.TagIDs = tags(p, m.TagIDs) }

func tagsFrom(p *pass, c *infraSpec, m *providerSpec) { m.TagIDs = tags(p, c.TagIDs) }

const maxTags = 10

var tagID = regexp.MustCompile(`^urn:vmomi:InventoryServiceTag:[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}:[^:]+$`)

func tags(p *pass, ids []string) []string {
	if len(ids) > maxTags {
		p.Unsupported("tagIDs", len(ids), fmt.Sprintf("Machine API accepts at most %d tags: remove some", maxTags))
	}
	for i, id := range ids {
		if !tagID.MatchString(id) {
			p.Invalid(fmt.Sprintf("tagIDs[%d]", i), id, "must be the id of a tag, of the form urn:vmomi:InventoryServiceTag:UUID:GLOBAL")
		}
	}
	return ids
}

func providerIDTo(p *pass, _ *providerSpec, c *infraSpec) {
	if p.Core.ProviderID != "" {
		c.ProviderID = &p.Core.ProviderID
	}
}

func providerIDFrom(p *pass, c *infraSpec, _ *providerSpec) {
	id := text(c.ProviderID)
	switch {
	case p.Core.Template && id != "":
		p.Unsupported("providerID", id, "a template has no instance, and so no provider id: remove it")
	case p.Core.ProviderID == "":
		p.Core.ProviderID = id
	case id != "" && id != p.Core.ProviderID:
		p.Differs("providerID", id, "the Machine's spec.providerID", p.Core.ProviderID)
	}
}

func userDataTo(p *pass, m *providerSpec, _ *infraSpec) {
	p.UserData(ptr.Deref(m.UserDataSecret, corev1.LocalObjectReference{}).Name)
}

func userDataFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if secret := p.UserDataBack(); secret != "" {
		m.UserDataSecret = &corev1.LocalObjectReference{Name: secret}
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
