// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	awsv1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	"github.com/poundlock/poundlock/conversion"
)

func groupsTo(p *pass, m *providerSpec, c *infraSpec) {
	for i, g := range m.SecurityGroups {
		at := p.At(fmt.Sprintf("securityGroups[%d]", i))
		if text(g.ID) == "" && g.ARN == nil && len(g.Filters) == 0 {
			at.Required("id", "a security group needs an id or filters: give one of the two")
		}
		c.AdditionalSecurityGroups = append(c.AdditionalSecurityGroups, reference(at, g))
	}
}

func groupsFrom(p *pass, c *infraSpec, m *providerSpec) {
	for i, g := range c.AdditionalSecurityGroups {
		at := p.At(fmt.Sprintf("additionalSecurityGroups[%d]", i))
		if g.ID == nil && len(g.Filters) == 0 {
			at.Required("id", "a security group needs an id or filters: give one of the two")
		}
		m.SecurityGroups = append(m.SecurityGroups, referenceBack(at, g))
	}
}

// wavelengthZone is part of the name of every Wavelength Zone.
const wavelengthZone = "-wlz-"

// carrier returns true, and reports an error, for publicIp on a machine in a Wavelength Zone that has no instance yet. Machine API gives such a machine an
// address of the zone's carrier. Cluster API cannot: it asks AWS for a public address, and AWS gives none in such a zone.
func carrier(p *pass, m *providerSpec) bool {
	if !ptr.Deref(m.PublicIP, false) || !strings.Contains(m.Placement.AvailabilityZone, wavelengthZone) || !p.Core.Template && p.Core.ProviderID != "" {
		return false
	}
	p.Unsupported("publicIp", true, "in a Wavelength Zone, Machine API assigns an address of the carrier, but Cluster API cannot: remove publicIp, or "+
		"leave Machine API authoritative for new machines. Machines that have an instance can move with publicIp")
	return true
}

func subnetTo(p *pass, m *providerSpec, c *infraSpec) {
	carried := carrier(p, m)
	if text(m.Subnet.ID) != "" || len(m.Subnet.Filters) > 0 {
		ref := reference(p.At("subnet"), m.Subnet)
		c.Subnet = &ref
		if ptr.Deref(m.PublicIP, false) && !carried {
			listsPublic(p, m)
		}
		return
	}
	if m.Subnet.ARN == nil && !carried { // an ARN and a carrier's address have errors of their own
		remedy := "Name the subnet in this object, by its id or by filters, as in the cluster's other MachineSets"
		if p.Core.ControlPlane {
			remedy = "Name the subnet by its id or by filters. In a ControlPlaneMachineSet, name it in each failure domain, or in the template"
		}
		listsSubnet(p, m.Placement.AvailabilityZone, m.PublicIP, remedy)
	}
}

// listsPublic reports an error if the AWSCluster does not list the subnet of a machine with publicIp as a public subnet. Cluster API would then give the
// machine no public address. The error is common, because OpenShift's AWSCluster lists no subnets. A Machine that has an instance is not checked, because the
// instance has its address.
func listsPublic(p *pass, m *providerSpec) {
	if p.Env.InfraCluster == nil || !p.Core.Template && p.Core.ProviderID != "" {
		return
	}
	const why = "Cluster API gives a machine a public address (publicIp) only in a subnet that the AWSCluster lists as public. If the Machine's subnet is " +
		"public, list it"
	entry := func(id string) map[string]any {
		subnet := map[string]any{"id": id, "isPublic": true}
		if zone := m.Placement.AvailabilityZone; zone != "" {
			subnet["availabilityZone"] = zone
		}
		return map[string]any{"network": map[string]any{"subnets": []any{subnet}}}
	}
	listed := listedSubnets(p)
	id := text(m.Subnet.ID)
	if id == "" {
		if !slices.ContainsFunc(listed, func(s awsv1.SubnetSpec) bool {
			return s.IsPublic && (s.AvailabilityZone == "" || m.Placement.AvailabilityZone == "" || s.AvailabilityZone == m.Placement.AvailabilityZone)
		}) {
			p.Apply("spec.network.subnets", nil, "public-subnet", why+". In the command, SUBNET stands for the id that aws ec2 describe-subnets prints "+
				"for the filters of the Machine's subnet", entry("SUBNET"))
		}
		return
	}
	switch subnet := listed.FindByID(id); {
	case subnet == nil:
		p.Apply("spec.network.subnets", nil, "public-"+id, why, entry(id))
	case !subnet.IsPublic:
		p.Unsupported("publicIp", true, fmt.Sprintf("the AWSCluster lists subnet %q as private, and in a private subnet Cluster API gives a machine no "+
			"public address: name a public subnet, or remove publicIp", id))
	}
}

func subnetFrom(p *pass, c *infraSpec, m *providerSpec) {
	if c.Subnet != nil {
		m.Subnet = referenceBack(p.At("subnet"), *c.Subnet)
	}
	if c.Subnet == nil || c.Subnet.ID == nil && len(c.Subnet.Filters) == 0 {
		listsSubnet(p, p.Core.FailureDomain, c.PublicIP, "List a subnet in the AWSCluster, or create another object that names the subnet, because this "+
			"object cannot be changed")
	}
}

// listsSubnet reports an error for a machine without a subnet if the AWSCluster lists no subnet that Cluster API could use. For such a machine, Machine API's
// controllers look for a subnet in the zone. Cluster API's controllers use a subnet that the AWSCluster lists, and create no instance if there is none.
// OpenShift's AWSCluster lists none. A Machine that has an instance needs no subnet and is not checked. The control plane's template is not checked either:
// its Machines get a subnet from a failure domain, and each of them is converted by itself.
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
	p.Required("subnet", fmt.Sprintf("Cluster API would create no instance. The machine names no subnet, so Cluster API looks for one in "+
		"spec.network.subnets of the AWSCluster, which lists no %s subnet%s. %s",
		which, where, remedy))
}

func listedSubnets(p *pass) (out awsv1.Subnets) {
	listed, _, _ := unstructured.NestedFieldNoCopy(p.Env.InfraCluster, "spec", "network", "subnets")
	raw, _ := json.Marshal(listed) // cannot fail: the value comes from JSON
	_ = json.Unmarshal(raw, &out)  // cannot fail: the API server has validated it
	return out
}

const oneOf = "give an id or filters, not both"

func reference(p *pass, m machinev1beta1.AWSResourceReference) awsv1.AWSResourceReference {
	out := awsv1.AWSResourceReference{ID: m.ID}
	if text(m.ID) == "" { // empty means absent
		out.ID = nil
	}
	checkReference(p, out.ID, len(m.Filters))
	for _, f := range m.Filters {
		// Cluster API requires the list: without values it must be empty, not nil.
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
		p.Invalid("id", "", "must not be empty: set the id, or leave this field out")
	}
}

func regionTo(p *pass, m *providerSpec, _ *infraSpec) {
	have, want := m.Placement.Region, region(p)
	switch {
	case have == "" || have == want:
	case want == "":
		p.Unsupported("placement.region", have, "the region must be the cluster's, but the cluster's region is unknown: neither the Infrastructure nor the "+
			"AWSCluster has it. Set spec.region of the AWSCluster")
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
			p.Unsupported(fmt.Sprintf("loadBalancers[%d]", i), lb.Name, "Cluster API registers only control plane Machines with load balancers, and this "+
				"is another Machine: remove the load balancer, or leave Machine API authoritative")
		}
		return
	}
	if p.Env.InfraCluster == nil {
		if len(m.LoadBalancers) > 0 {
			p.Incomparable("loadBalancers", describe(m.LoadBalancers), "the load balancers of the AWSCluster")
		}
		return
	}
	theirs := clusterBalancers(p)
	if describe(m.LoadBalancers) == describe(theirs) {
		return
	}
	all := conversion.OfControlPlane(p, "loadBalancers", m.LoadBalancers)
	patch, asks := balancersPatch(p, theirs, all)
	if patch == "" {
		p.Differs("loadBalancers", describe(m.LoadBalancers), "the load balancers of the AWSCluster", describe(theirs))
		return
	}
	why := "The AWSCluster does not name all load balancers of the control plane, so Cluster API would not register control plane Machines with the " +
		"missing ones. OpenShift 4.20 and older create an AWSCluster that names none"
	if asks {
		why += ". In the command, SCHEME stands for the scheme that aws elbv2 describe-load-balancers prints (for classic load balancers: aws elb " +
			"describe-load-balancers). controlPlaneLoadBalancer is the internal load balancer, and secondaryControlPlaneLoadBalancer is the " +
			"internet-facing one"
	}
	p.Replace("spec.controlPlaneLoadBalancer", nil, why, patch)
	if describe(m.LoadBalancers) != describe(all) {
		p.Unsupported("loadBalancers", describe(m.LoadBalancers),
			"Cluster API registers each control plane Machine with all load balancers of the AWSCluster. Give this Machine the same load balancers as the "+
				"other control plane Machines: "+describe(all))
	}
}

// place is a load balancer with its scheme, in the form in which an AWSCluster names it.
type place struct {
	lb     machinev1beta1.LoadBalancerReference
	scheme string
}

// ofScheme returns the scheme of a load balancer, which it reads from the name that OpenShift's installer gives the load balancer. It returns "" for another
// name.
func ofScheme(lb machinev1beta1.LoadBalancerReference) string {
	switch {
	case strings.HasSuffix(lb.Name, "-int"):
		return string(awsv1.ELBSchemeInternal)
	case strings.HasSuffix(lb.Name, "-ext"):
		return string(awsv1.ELBSchemeInternetFacing)
	}
	return ""
}

// otherScheme returns the scheme that the AWSCluster's other load balancer must have, because the AWSCluster's webhook refuses two load balancers of one
// scheme. It returns "" if scheme is unknown.
func otherScheme(scheme string) string {
	switch scheme {
	case string(awsv1.ELBSchemeInternal):
		return string(awsv1.ELBSchemeInternetFacing)
	case string(awsv1.ELBSchemeInternetFacing):
		return string(awsv1.ELBSchemeInternal)
	}
	return ""
}

// balancersPatch returns a merge patch that adds to the AWSCluster the load balancers that the AWSCluster lacks. all are the load balancers of the control
// plane Machines, and theirs the load balancers that the AWSCluster has. The patch is "" if they do not all fit into an AWSCluster. An AWSCluster has at most
// two: the second must be a network load balancer with another scheme than the first. asks reports that a scheme is unknown because no name shows it, so that
// a person must look it up.
func balancersPatch(p *pass, theirs, all []machinev1beta1.LoadBalancerReference) (patch string, asks bool) {
	const first, second = "controlPlaneLoadBalancer", "secondaryControlPlaneLoadBalancer"
	kinds := map[machinev1beta1.AWSLoadBalancerType]awsv1.LoadBalancerType{
		machinev1beta1.NetworkLoadBalancerType: awsv1.LoadBalancerTypeNLB, machinev1beta1.ClassicLoadBalancerType: awsv1.LoadBalancerTypeClassic,
	}
	added := slices.DeleteFunc(slices.Clone(all), func(lb machinev1beta1.LoadBalancerReference) bool { return slices.Contains(theirs, lb) })
	if len(added) == 0 || len(added)+len(theirs) > 2 || len(all) != len(added)+len(theirs) ||
		slices.ContainsFunc(all, func(lb machinev1beta1.LoadBalancerReference) bool { return kinds[lb.Type] == "" }) {
		return "", false // nothing is missing, the AWSCluster has one that no Machine has, there are too many, or a type is unknown
	}
	places := map[string]place{}
	if len(theirs) == 0 {
		a := place{all[0], ofScheme(all[0])}
		if len(all) == 2 {
			b := place{all[1], ofScheme(all[1])}
			a.scheme, b.scheme = cmp.Or(a.scheme, otherScheme(b.scheme)), cmp.Or(b.scheme, otherScheme(a.scheme))
			if b.lb.Type != a.lb.Type && b.lb.Type == machinev1beta1.ClassicLoadBalancerType ||
				b.lb.Type == a.lb.Type && b.scheme == string(awsv1.ELBSchemeInternal) {
				a, b = b, a
			}
			places[second] = b
		}
		places[first] = a
	} else {
		scheme, _ := p.Env.InfraClusterString("spec", first, "scheme")
		places[second] = place{added[0], otherScheme(cmp.Or(scheme, string(awsv1.ELBSchemeInternetFacing)))}
		if own := ofScheme(added[0]); own != "" && own != places[second].scheme {
			return "", false
		}
		if name, _ := p.Env.InfraClusterString("spec", first, "name"); name == "" {
			return "", false
		}
	}
	if b, two := places[second]; two && (b.lb.Type != machinev1beta1.NetworkLoadBalancerType || b.scheme != "" && b.scheme == places[first].scheme) {
		return "", false
	}
	spec := map[string]any{}
	for at, b := range places {
		asks = asks || b.scheme == ""
		spec[at] = map[string]any{"name": b.lb.Name, "loadBalancerType": kinds[b.lb.Type], "scheme": cmp.Or(b.scheme, "SCHEME")}
	}
	raw, _ := json.Marshal(map[string]any{"spec": spec}) // cannot fail: all values are strings
	return string(raw), asks
}

func balancersFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if p.Core.ControlPlane {
		m.LoadBalancers = clusterBalancers(p)
	}
}

// clusterBalancers returns, in Machine API's form, the AWSCluster's load balancers. Cluster API registers control plane Machines with them.
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
