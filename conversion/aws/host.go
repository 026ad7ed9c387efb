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
		at.Invalid("", nil, "a host may only be given with tenancy host: remove it, or set tenancy")
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
		at.Required("dedicatedHost", "affinity DedicatedHost needs a host")
	default:
		at.Unsupported("affinity", string(machinev1beta1.HostAffinityAnyAvailable),
			"placement.host without dedicatedHost means the same as no host, and Cluster API has no such form: remove placement.host")
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
		p.Invalid("dynamicHostAllocation", nil, "only with allocationStrategy Dynamic")
	}
	switch {
	case host.ID == "":
		p.Required("id", "allocationStrategy UserProvided needs the id of a host")
	case !hostID.MatchString(host.ID):
		p.Unsupported("id", host.ID, "Cluster API takes ids of h- and 17 hexadecimal digits only: name such a host, or keep the machine with Machine API")
	default:
		c.HostID = &host.ID
	}
}

func dynamicTo(p *pass, host *machinev1beta1.DedicatedHost, affinity string, c *infraSpec) {
	if host.ID != "" {
		p.Invalid("id", host.ID, "not with allocationStrategy Dynamic")
	}
	if affinity != pinned {
		p.Unsupported("allocationStrategy", string(machinev1beta1.AllocationStrategyDynamic), "Cluster API allocates hosts with affinity DedicatedHost "+
			"only: set that, or keep the machine with Machine API")
	}
	c.DynamicHostAllocation = &awsv1.DynamicHostAllocationSpec{}
	if host.DynamicHostAllocation == nil {
		return
	}
	if host.DynamicHostAllocation.Tags == nil || len(*host.DynamicHostAllocation.Tags) == 0 {
		p.Required("dynamicHostAllocation.tags", "at least one tag, or leave dynamicHostAllocation out")
		return
	}
	c.DynamicHostAllocation.Tags = tags(p, "dynamicHostAllocation.tags", *host.DynamicHostAllocation.Tags)
}

func hostFrom(p *pass, c *infraSpec, m *providerSpec) {
	affinity := text(c.HostAffinity)
	if affinity == "" {
		affinity = flexible
	}
	dedicated := dedicatedFrom(p, c, affinity)
	if c.Tenancy != "host" && (dedicated != nil || affinity != flexible) {
		p.Invalid("hostAffinity", affinity, "a host may only be given with tenancy host")
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
		p.Unsupported("hostAffinity", affinity, "Machine API pins an instance only to a host that is named or allocated")
	default:
		p.Invalid("hostAffinity", affinity, "supported values: \"default\", \"host\"")
	}
	return "", false
}

func dedicatedFrom(p *pass, c *infraSpec, affinity string) *machinev1beta1.DedicatedHost {
	switch {
	case c.HostID != nil && c.DynamicHostAllocation != nil:
		p.Invalid("hostID", *c.HostID, "hostID and dynamicHostAllocation exclude each other")
	case c.HostID != nil && *c.HostID == "":
		p.Invalid("hostID", "", "an id is not empty: leave it out")
	case c.HostID != nil:
		strategy := machinev1beta1.AllocationStrategyUserProvided
		return &machinev1beta1.DedicatedHost{AllocationStrategy: &strategy, ID: *c.HostID}
	case c.DynamicHostAllocation != nil:
		if affinity != pinned {
			p.Invalid("dynamicHostAllocation", nil, "only with hostAffinity host")
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
