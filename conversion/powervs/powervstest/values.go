// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervstest

import (
	"math/rand/v2"

	machinev1 "github.com/openshift/api/machine/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/poundlock/poundlock/conversion/conversiontest"
	"github.com/poundlock/poundlock/conversion/powervs"
)

// processors returns a maker of valid numbers of processors. The first two of these numbers mean that the number is absent.
func processors() func(*rand.Rand) any {
	return conversiontest.OneOf(intstr.FromInt32(0), intstr.FromString(""), intstr.FromInt32(1), intstr.FromInt32(15), intstr.FromString("0.25"),
		intstr.FromString("0.5"), intstr.FromString("2.75"), intstr.FromString("3"))
}

// ProviderValues returns makers of valid values for those fields of a providerSpec whose values must obey rules.
func ProviderValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	resource := conversiontest.OneOf[machinev1.PowerVSResourceType]
	return conversiontest.Values{
		"kind": one(""), "apiVersion": one(""),
		"metadata":             conversiontest.OneOf(metav1.ObjectMeta{Name: "x"}),
		"userDataSecret":       conversiontest.OneOf(&machinev1.PowerVSSecretReference{Name: "worker-user-data"}),
		"credentialsSecret":    conversiontest.OneOf(machinev1.PowerVSSecretReference{Name: "powervs-credentials"}),
		"serviceInstance.type": resource("ID", "Name"),
		"serviceInstance.id":   one(Workspace),
		"serviceInstance.name": one(WorkspaceName),
		"image.type":           resource("ID", "Name"),
		"network.type":         resource("ID", "Name", "RegEx"),
		"systemType":           one("", "s922", "e980", "s1022", "e1050", "e1080", "s1122"),
		"processorType":        one("", "Shared", "Capped", "Dedicated"),
		"processors":           processors(),
		"memoryGiB":            conversiontest.OneOf[int32](0, 2, 32, 942),
		"loadBalancers":        conversiontest.OneOf(LoadBalancers(), []machinev1.LoadBalancerReference{LoadBalancers()[1], LoadBalancers()[0]}),
	}
}

// LoadBalancers returns the load balancers of the cluster, in the Machine API's form.
func LoadBalancers() []machinev1.LoadBalancerReference {
	return []machinev1.LoadBalancerReference{{Name: "lock-7x2k9-loadbalancer", Type: "Application"}, {Name: "lock-7x2k9-loadbalancer-int", Type: "Application"}}
}

// RepairProvider changes a generated providerSpec so that it also obeys the rules about more than one field.
func RepairProvider(r *rand.Rand, m *machinev1.PowerVSMachineProviderConfig) {
	repairResource(&m.ServiceInstance, Workspace, WorkspaceName)
	repairResource(&m.Image, conversiontest.Word(r), conversiontest.Word(r))
	if m.Network.Type == machinev1.PowerVSResourceTypeRegEx {
		m.Network = machinev1.PowerVSResource{Type: machinev1.PowerVSResourceTypeRegEx, RegEx: new("^" + conversiontest.Word(r) + "$")}
		return
	}
	m.Network.RegEx = nil
	repairResource(&m.Network, conversiontest.Word(r), conversiontest.Word(r))
}

// repairResource sets the member that the reference's type names, ID or Name, and no other. It does not change a regular expression, because another row
// refuses that.
func repairResource(m *machinev1.PowerVSResource, id, name string) {
	m.ID, m.Name = nil, nil
	if m.Type == machinev1.PowerVSResourceTypeID {
		m.ID = &id
	} else {
		m.Name = &name
	}
}

// NormalProvider changes a providerSpec into the form that it has after the round trip. If several forms mean the same, the note in the field's row says
// which one comes back.
func NormalProvider(m *machinev1.PowerVSMachineProviderConfig) {
	m.CredentialsSecret = &machinev1.PowerVSSecretReference{Name: "powervs-credentials"}
	m.LoadBalancers = LoadBalancers()
	if m.SystemType == "" {
		m.SystemType = "s922"
	}
	if m.ProcessorType == "" {
		m.ProcessorType = machinev1.PowerVSProcessorTypeShared
	}
	if m.MemoryGiB == 0 {
		m.MemoryGiB = 32
	}
	if value := m.Processors; value.IntVal == 0 && value.StrVal == "" {
		m.Processors = intstr.FromString("0.5")
		if m.ProcessorType == machinev1.PowerVSProcessorTypeDedicated {
			m.Processors = intstr.FromInt32(1)
		}
	}
}

// InfraValues returns makers of valid values for those fields of an IBMPowerVSMachine's spec whose values must obey rules.
func InfraValues() conversiontest.Values {
	one := conversiontest.OneOf[string]
	return conversiontest.Values{
		"providerID":           one(Kit().ProviderID("i-1")),
		"serviceInstanceID":    one("", "", Workspace),
		"serviceInstance.id":   one(Workspace),
		"serviceInstance.name": one(WorkspaceName),
		"systemType":           one("", "s922", "e980", "s1022", "e1050", "e1080", "s1122"),
		"processorType":        one("", "Shared", "Capped", "Dedicated"),
		"processors":           processors(),
		"memoryGiB":            conversiontest.OneOf[int32](0, 2, 32, 942),
	}
}

// RepairInfra changes an IBMPowerVSMachine's generated spec so that it also obeys the rules about more than one field.
func RepairInfra(r *rand.Rand, c *powervs.MachineSpec) {
	if c.ServiceInstance != nil {
		oneOf(r, &c.ServiceInstance.ID, &c.ServiceInstance.Name)
		if c.ServiceInstanceID != "" {
			c.ServiceInstance.ID, c.ServiceInstance.Name = nil, nil
		}
	}
	if c.Image == nil && c.ImageRef == nil {
		c.ImageRef = &corev1.LocalObjectReference{Name: conversiontest.Word(r)}
	}
	if c.Image != nil {
		c.ImageRef = nil
		oneOf(r, &c.Image.ID, &c.Image.Name)
		if c.Image.ID == nil && c.Image.Name == nil {
			c.Image.Name = new("rhcos")
		}
	}
	if oneOf(r, &c.Network.ID, &c.Network.Name, &c.Network.RegEx); c.Network == (powervs.ResourceReference{}) {
		c.Network.RegEx = new("^lock$")
	}
}

// oneOf keeps one of the members that are set, which it picks at random, and sets the others to nil.
func oneOf(r *rand.Rand, members ...**string) {
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	found := false
	for _, m := range members {
		if found {
			*m = nil
		}
		found = found || *m != nil
	}
}

// NormalInfra changes an IBMPowerVSMachine's spec into the form that it has after the round trip.
func NormalInfra(c *powervs.MachineSpec) {
	c.ProviderID = new(Kit().ProviderID("i-1"))
	switch {
	case c.ServiceInstanceID != "":
		c.ServiceInstance = &powervs.ResourceReference{ID: new(c.ServiceInstanceID)}
	case c.ServiceInstance == nil || *c.ServiceInstance == powervs.ResourceReference{}:
		c.ServiceInstance = &powervs.ResourceReference{Name: new(WorkspaceName)}
	}
	c.ServiceInstanceID = ""
	if c.ImageRef != nil {
		c.Image, c.ImageRef = &powervs.ResourceReference{Name: &c.ImageRef.Name}, nil
	}
	Default(c)
}

// Default sets the defaults that the provider's webhook sets.
func Default(c *powervs.MachineSpec) {
	if c.MemoryGiB == 0 {
		c.MemoryGiB = 2
	}
	if c.Processors.IntVal == 0 && c.Processors.StrVal == "" {
		c.Processors = intstr.FromString("0.25")
	}
	if c.SystemType == "" {
		c.SystemType = "s922"
	}
	if c.ProcessorType == "" {
		c.ProcessorType = "Shared"
	}
}
