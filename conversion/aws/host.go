// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"regexp"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
)

// These are the values of Cluster API's hostAffinity: to a certain host, and to any host.
const (
	pinned   = "host"
	flexible = "default"
)

var hostID = regexp.MustCompile(`^h-[0-9a-f]{17}$`)

func hostTo(p *pass, m *providerSpec, c *infraSpec) {
	host := m.Placement.Host
	if host == nil {
		return
	}
	at := p.At("placement.host")
	if m.Placement.Tenancy != machinev1beta1.HostTenancy {
		at.Invalid("", nil, "a machine can have a host only with tenancy host: set placement.tenancy to host, or remove placement.host")
	}
	affinity, ok := affinityTo(at, host.Affinity)
	if !ok {
		return
	}
	c.HostAffinity = &affinity
	switch {
	case host.DedicatedHost != nil:
		dedicatedTo(at.At("dedicatedHost"), host.DedicatedHost, affinity, c)
	case affinity == pinned:
		at.Required("dedicatedHost", "affinity DedicatedHost needs a host: set dedicatedHost")
	default:
		at.Unsupported("affinity", string(machinev1beta1.HostAffinityAnyAvailable),
			"placement.host without dedicatedHost means the same as no placement.host, and only the latter converts: remove placement.host")
	}
}

func affinityTo(p *pass, affinity *machinev1beta1.HostAffinity) (string, bool) {
	switch {
	case affinity == nil:
		p.Required("affinity", "set DedicatedHost or AnyAvailable")
	case *affinity == machinev1beta1.HostAffinityDedicatedHost:
		return pinned, true
	case *affinity == machinev1beta1.HostAffinityAnyAvailable:
		return flexible, true
	default:
		p.Invalid("affinity", string(*affinity), "supported values: \"AnyAvailable\", \"DedicatedHost\"")
	}
	return "", false
}

func dedicatedTo(p *pass, host *machinev1beta1.DedicatedHost, affinity string, c *infraSpec) {
	switch strategy := host.AllocationStrategy; {
	case strategy == nil || *strategy == machinev1beta1.AllocationStrategyUserProvided:
		userProvidedTo(p, host, c)
	case *strategy == machinev1beta1.AllocationStrategyDynamic:
		dynamicTo(p, host, affinity, c)
	default:
		p.Invalid("allocationStrategy", string(*strategy), "supported values: \"Dynamic\", \"UserProvided\"")
	}
}

func userProvidedTo(p *pass, host *machinev1beta1.DedicatedHost, c *infraSpec) {
	if host.DynamicHostAllocation != nil {
		p.Invalid("dynamicHostAllocation", nil, "dynamicHostAllocation is only for allocationStrategy Dynamic: remove it, or set this strategy")
	}
	switch {
	case host.ID == "":
		p.Required("id", "allocationStrategy UserProvided needs the id of a host: set id")
	case !hostID.MatchString(host.ID):
		p.Unsupported("id", host.ID,
			"Cluster API accepts only hosts whose id is h- and 17 hexadecimal digits: name such a host, or leave Machine API authoritative")
	default:
		c.HostID = &host.ID
	}
}

func dynamicTo(p *pass, host *machinev1beta1.DedicatedHost, affinity string, c *infraSpec) {
	if host.ID != "" {
		p.Invalid("id", host.ID,
			"with allocationStrategy Dynamic, AWS allocates the host, so no id can be given: remove id, or set allocationStrategy to UserProvided")
	}
	if affinity != pinned {
		p.Unsupported("allocationStrategy", string(machinev1beta1.AllocationStrategyDynamic),
			"Cluster API allocates hosts only for affinity DedicatedHost: set affinity to DedicatedHost, or leave Machine API authoritative")
	}
	c.DynamicHostAllocation = &awsv1.DynamicHostAllocationSpec{}
	if host.DynamicHostAllocation == nil {
		return
	}
	if host.DynamicHostAllocation.Tags == nil || len(*host.DynamicHostAllocation.Tags) == 0 {
		p.Required("dynamicHostAllocation.tags", "set at least one tag, or leave dynamicHostAllocation out")
		return
	}
	c.DynamicHostAllocation.Tags = tags(p, "dynamicHostAllocation.tags", *host.DynamicHostAllocation.Tags,
		func(machinev1beta1.TagSpecification) bool { return false })
}

func hostFrom(p *pass, c *infraSpec, m *providerSpec) {
	affinity := text(c.HostAffinity)
	if affinity == "" {
		affinity = flexible
	}
	dedicated := dedicatedFrom(p, c, affinity)
	if c.Tenancy != "host" && (dedicated != nil || affinity != flexible) {
		p.Invalid("hostAffinity", affinity,
			"a machine can have a host only with tenancy host: set tenancy to host, or remove hostAffinity, hostID and dynamicHostAllocation")
		return
	}
	if word, ok := affinityFrom(p, affinity, dedicated != nil); ok && dedicated != nil {
		m.Placement.Host = &machinev1beta1.HostPlacement{Affinity: &word, DedicatedHost: dedicated}
	}
}

func affinityFrom(p *pass, affinity string, dedicated bool) (machinev1beta1.HostAffinity, bool) {
	switch {
	case affinity == flexible:
		return machinev1beta1.HostAffinityAnyAvailable, true
	case affinity == pinned && dedicated:
		return machinev1beta1.HostAffinityDedicatedHost, true
	case affinity == pinned:
		p.Unsupported("hostAffinity", affinity, "Machine API binds an instance to a host only if the host is named or allocated: set hostID or "+
			"dynamicHostAllocation, or set hostAffinity to default")
	default:
		p.Invalid("hostAffinity", affinity, "supported values: \"default\", \"host\"")
	}
	return "", false
}

func dedicatedFrom(p *pass, c *infraSpec, affinity string) *machinev1beta1.DedicatedHost {
	switch {
	case c.HostID != nil && c.DynamicHostAllocation != nil:
		p.Invalid("hostID", *c.HostID, "a machine has either hostID or dynamicHostAllocation, not both: remove one of the two")
	case c.HostID != nil && *c.HostID == "":
		p.Invalid("hostID", "", "must not be empty: set the id, or leave this field out")
	case c.HostID != nil:
		strategy := machinev1beta1.AllocationStrategyUserProvided
		return &machinev1beta1.DedicatedHost{AllocationStrategy: &strategy, ID: *c.HostID}
	case c.DynamicHostAllocation != nil:
		if affinity != pinned {
			p.Invalid("dynamicHostAllocation", nil,
				"dynamicHostAllocation is only for hostAffinity host: set hostAffinity to host, or remove dynamicHostAllocation")
		}
		return dynamicFrom(p, c.DynamicHostAllocation.Tags)
	}
	return nil
}

func dynamicFrom(p *pass, tags map[string]string) *machinev1beta1.DedicatedHost {
	strategy := machinev1beta1.AllocationStrategyDynamic
	out := &machinev1beta1.DedicatedHost{AllocationStrategy: &strategy}
	if list := tagList(p, "dynamicHostAllocation.tags", tags); list != nil {
		out.DynamicHostAllocation = &machinev1beta1.DynamicHostAllocationSpec{Tags: &list}
	}
	return out
}
