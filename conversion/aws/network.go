// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
)

func groupsTo(p *pass, m *providerSpec, c *infraSpec) {
	for i, g := range m.SecurityGroups {
		at := p.At(fmt.Sprintf("securityGroups[%d]", i))
		if text(g.ID) == "" && g.ARN == nil && len(g.Filters) == 0 {
			at.Required("id", "a reference needs an id or filters")
		}
		c.AdditionalSecurityGroups = append(c.AdditionalSecurityGroups, reference(at, g))
	}
}

func groupsFrom(p *pass, c *infraSpec, m *providerSpec) {
	for i, g := range c.AdditionalSecurityGroups {
		at := p.At(fmt.Sprintf("additionalSecurityGroups[%d]", i))
		if g.ID == nil && len(g.Filters) == 0 {
			at.Required("id", "a reference needs an id or filters")
		}
		m.SecurityGroups = append(m.SecurityGroups, referenceBack(at, g))
	}
}

func subnetTo(p *pass, m *providerSpec, c *infraSpec) {
	if text(m.Subnet.ID) != "" || len(m.Subnet.Filters) > 0 {
		ref := reference(p.At("subnet"), m.Subnet)
		c.Subnet = &ref
		return
	}
	if m.Subnet.ARN == nil { // which is reported by itself
		listsSubnet(p, m.Placement.AvailabilityZone, m.PublicIP, "Name the subnet here by its id or by filters, as the cluster's other MachineSets do")
	}
}

func subnetFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.Subnet != nil {
		m.Subnet = referenceBack(p.At("subnet"), *c.Subnet)
	}
	if c.Subnet == nil || c.Subnet.ID == nil && len(c.Subnet.Filters) == 0 {
		listsSubnet(p, p.Core.FailureDomain, c.PublicIP, "List it there, or name the subnet in another object, as this one cannot be changed")
	}
}

// listsSubnet: for a machine without a subnet Machine API's controllers look for one in the zone, and Cluster API's take one that the AWSCluster lists. OpenShift's
// lists none, and then they create no instance. An instance that exists needs none, and a control plane's template has one of its failure domains put in.
func listsSubnet(p *pass, zone string, public *bool, remedy string) {
	if p.Env.InfraCluster == nil || !p.Core.Template && p.Core.ProviderID != "" || p.Core.Template && p.Core.ControlPlane {
		return
	}
	usable, which := listedSubnets(p).FilterNonCni(), "private"
	if zone != "" {
		usable = usable.FilterByZone(zone)
	}
	if ptr.Deref(public, false) {
		usable, which = usable.FilterPublic(), "public"
	} else {
		usable = usable.FilterPrivate()
	}
	if len(usable) > 0 {
		return
	}
	where := ""
	if zone != "" {
		where = " in " + zone
	}
	p.Required("subnet", fmt.Sprintf("Cluster API would create no instance: without a subnet it takes one from spec.network.subnets of the AWSCluster, which lists no %s one%s. %s",
		which, where, remedy))
}

func listedSubnets(p *pass) (out awsv1.Subnets) {
	listed, _, _ := unstructured.NestedFieldNoCopy(p.Env.InfraCluster, "spec", "network", "subnets")
	raw, _ := json.Marshal(listed) // it comes from JSON
	_ = json.Unmarshal(raw, &out)  // an API server has taken it
	return out
}

const oneOf = "give an id or filters, not both"

func reference(p *pass, m machinev1beta1.AWSResourceReference) awsv1.AWSResourceReference {
	out := awsv1.AWSResourceReference{ID: m.ID}
	if text(m.ID) == "" { // says nothing
		out.ID = nil
	}
	checkReference(p, out.ID, len(m.Filters))
	for _, f := range m.Filters {
		// The list is required there: none is an empty one.
		out.Filters = append(out.Filters, awsv1.Filter{Name: f.Name, Values: append([]string{}, f.Values...)})
	}
	return out
}

func referenceBack(p *pass, c awsv1.AWSResourceReference) machinev1beta1.AWSResourceReference {
	out := machinev1beta1.AWSResourceReference{ID: c.ID}
	checkReference(p, c.ID, len(c.Filters))
	for _, f := range c.Filters {
		out.Filters = append(out.Filters, machinev1beta1.Filter{Name: f.Name, Values: f.Values})
	}
	return out
}

func checkReference(p *pass, id *string, filters int) {
	switch {
	case id != nil && filters > 0:
		p.Invalid("filters", nil, oneOf)
	case id != nil && *id == "":
		p.Invalid("id", "", "an id is not empty: leave it out")
	}
}

func regionTo(p *pass, m *providerSpec, _ *infraSpec) {
	have, want := m.Placement.Region, region(p)
	switch {
	case have == "" || have == want:
	case want == "":
		p.Unsupported("placement.region", have, "the cluster's region is not known: neither the Infrastructure nor the AWSCluster says one. Give the AWSCluster its spec.region")
	default:
		p.Differs("placement.region", have, "the cluster's region", want)
	}
}

func regionFrom(p *pass, _ *infraSpec, m *providerSpec) { m.Placement.Region = region(p) }

func region(p *pass) string {
	if p.Env.Region != "" {
		return p.Env.Region
	}
	region, _ := p.Env.InfraClusterString("spec", "region")
	return region
}

func zoneTo(p *pass, m *providerSpec, _ *infraSpec) {
	p.Core.FailureDomain = m.Placement.AvailabilityZone
}

func zoneFrom(p *pass, _ *infraSpec, m *providerSpec) {
	m.Placement.AvailabilityZone = p.Core.FailureDomain
}

func balancersTo(p *pass, m *providerSpec, _ *infraSpec) {
	if !p.Core.ControlPlane {
		for i, lb := range m.LoadBalancers {
			p.Unsupported(fmt.Sprintf("loadBalancers[%d]", i), lb.Name, "Cluster API registers control plane Machines only: remove it, or keep the machine with Machine API")
		}
		return
	}
	theirs := clusterBalancers(p)
	if describe(m.LoadBalancers) == describe(theirs) {
		return
	}
	others := slices.ContainsFunc(theirs, func(lb machinev1beta1.LoadBalancerReference) bool { return !slices.Contains(m.LoadBalancers, lb) })
	if patch, asks := balancersPatch(m.LoadBalancers, len(theirs) == 0); !others && patch != "" && p.Env.InfraCluster != nil {
		why := "The AWSCluster does not name all load balancers, as those of OpenShift 4.20 and older name none, so Cluster API would not register control plane Machines with them"
		if asks {
			why += ". SCHEME is what aws elbv2 describe-load-balancers prints (aws elb describe-load-balancers of classic ones): internal goes into controlPlaneLoadBalancer, internet-facing beside it"
		}
		p.Replace("spec.controlPlaneLoadBalancer", nil, why, patch)
		return
	}
	p.Differs("loadBalancers", describe(m.LoadBalancers), "the load balancers of the AWSCluster", describe(theirs))
}

// balancersPatch is what an AWSCluster has to say of a Machine's load balancers; empty where it cannot say it. An installer's names tell which is which; of a
// person's, where the AWSCluster has none, somebody has to look it up (asks).
func balancersPatch(lbs []machinev1beta1.LoadBalancerReference, none bool) (patch string, asks bool) {
	const internal, external = "controlPlaneLoadBalancer", "secondaryControlPlaneLoadBalancer"
	spec, guess := map[string]any{}, map[string]any{}
	for i, lb := range lbs {
		kind, known := map[machinev1beta1.AWSLoadBalancerType]awsv1.LoadBalancerType{
			machinev1beta1.NetworkLoadBalancerType: awsv1.LoadBalancerTypeNLB, machinev1beta1.ClassicLoadBalancerType: awsv1.LoadBalancerTypeClassic,
		}[lb.Type]
		if !known || i > 1 {
			return "", false
		}
		entry := func(scheme string) map[string]any {
			return map[string]any{"name": lb.Name, "loadBalancerType": kind, "scheme": scheme}
		}
		guess[[]string{internal, external}[i]] = entry("SCHEME")
		switch {
		case strings.HasSuffix(lb.Name, "-int"):
			spec[internal] = entry(string(awsv1.ELBSchemeInternal))
		case strings.HasSuffix(lb.Name, "-ext"):
			spec[external] = entry(string(awsv1.ELBSchemeInternetFacing))
		}
	}
	if len(spec) != len(lbs) || spec[internal] == nil {
		if spec, asks = guess, true; !none || len(lbs) == 0 {
			return "", false
		}
	}
	raw, _ := json.Marshal(map[string]any{"spec": spec}) // texts alone
	return string(raw), asks
}

func balancersFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if p.Core.ControlPlane {
		m.LoadBalancers = clusterBalancers(p)
	}
}

// clusterBalancers are those that Cluster API registers control plane Machines with, as Machine API would say it.
func clusterBalancers(p *pass) []machinev1beta1.LoadBalancerReference {
	var out []machinev1beta1.LoadBalancerReference
	for _, which := range []string{"controlPlaneLoadBalancer", "secondaryControlPlaneLoadBalancer"} {
		name, _ := p.Env.InfraClusterString("spec", which, "name")
		kind, _ := p.Env.InfraClusterString("spec", which, "loadBalancerType")
		if name != "" && kind != "disabled" {
			out = append(out, machinev1beta1.LoadBalancerReference{Name: name, Type: balancerType(kind)})
		}
	}
	return out
}

func balancerType(kind string) machinev1beta1.AWSLoadBalancerType {
	switch kind {
	case "", "classic", "elb":
		return machinev1beta1.ClassicLoadBalancerType
	case "nlb":
		return machinev1beta1.NetworkLoadBalancerType
	}
	return machinev1beta1.AWSLoadBalancerType(kind)
}

func describe(lbs []machinev1beta1.LoadBalancerReference) string {
	var out []string
	for _, lb := range lbs {
		out = append(out, lb.Name+" ("+string(lb.Type)+")")
	}
	slices.Sort(out)
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}
