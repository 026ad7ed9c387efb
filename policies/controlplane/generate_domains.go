// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// finder reads off a providerSpec the failure domain that it is in, in the words of a set; false: none that a set could name.
type finder func(spec map[string]any) (machinev1.FailureDomains, bool)

// domains are those of the control plane's Machines, and those that MachineSets have beside them, each once, in the order of their names.
func (g *generator) domains() (own, more []machinev1.FailureDomains) {
	if g.row.found == nil {
		return nil, nil
	}
	var specs []map[string]any
	for _, m := range g.stay {
		specs = append(specs, providerSpec(m.Spec))
	}
	find := g.row.found(specs, g.Infrastructure)
	for _, s := range specs {
		if d, ok := find(s); ok && !slices.ContainsFunc(own, g.equals(d)) {
			own = append(own, d)
		}
	}
	if len(own) == 0 {
		return nil, nil // Machines without a place do not get one because workers have
	}
	for _, s := range g.workers() {
		if d, ok := find(s); ok && g.elsewhere(d, append(slices.Clone(own), more...)) {
			more = append(more, d)
		}
	}
	for _, list := range [][]machinev1.FailureDomains{own, more} {
		slices.SortStableFunc(list, func(a, b machinev1.FailureDomains) int { return cmp.Compare(g.domain(a).key(), g.domain(b).key()) })
	}
	return own, more
}

// edge is the role of Nodes in places that are made for them alone (AWS Local and Wavelength Zones).
const edge = "node-role.kubernetes.io/edge"

// workers are the providerSpecs of the MachineSets that are in the control plane's region, in the order of the sets' names.
func (g *generator) workers() []map[string]any {
	sets := slices.Clone(g.MachineSets)
	slices.SortFunc(sets, func(a, b machinev1beta1.MachineSet) int { return cmp.Compare(a.Name, b.Name) })
	var out []map[string]any
	for _, s := range sets {
		spec := providerSpec(s.Spec.Template.Spec)
		_, atEdge := s.Spec.Template.Spec.Labels[edge]
		if spec == nil || atEdge || s.DeletionTimestamp != nil || spec["kind"] != g.row.kind {
			continue
		}
		if !slices.ContainsFunc([]string{"placement.region", "region", "location"}, func(path string) bool {
			return member(spec, places(path)) != member(g.spec, places(path))
		}) {
			out = append(out, spec)
		}
	}
	return out
}

// elsewhere reports whether a failure domain is in a zone that none of those known is in, and has the same fields as theirs. One that a
// Machine of the control plane is in has that Machine's subnet, and no worker's.
func (g *generator) elsewhere(d machinev1.FailureDomains, known []machinev1.FailureDomains) bool {
	at := func(d machinev1.FailureDomains) string {
		return (&Plan{row: g.row}).zoneOf(g.domain(d).in(nil))
	}
	says := func(d machinev1.FailureDomains) []string {
		return names(g.domain(d).sets, func(s setting) string { return s.path })
	}
	return slices.Equal(says(d), says(known[0])) && !slices.ContainsFunc(known, func(k machinev1.FailureDomains) bool { return at(k) == at(d) })
}

// domain is what a union of one failure domain sets.
func (g *generator) domain(d machinev1.FailureDomains) Domain {
	if all, _ := g.row.domains(d, g.Infrastructure); len(all) > 0 {
		return all[0]
	}
	return Domain{}
}

func (g *generator) domainName(d machinev1.FailureDomains) string { return g.domain(d).Name }

func (g *generator) equals(d machinev1.FailureDomains) func(machinev1.FailureDomains) bool {
	return func(other machinev1.FailureDomains) bool { return g.domain(d).same(g.domain(other)) }
}

// joined is one union of several, nil of none.
func joined(platform configv1.PlatformType, all []machinev1.FailureDomains) *machinev1.FailureDomains {
	if len(all) == 0 {
		return nil
	}
	out := &machinev1.FailureDomains{Platform: platform}
	for _, d := range all {
		out.AWS, out.Azure, out.GCP = appended(out.AWS, d.AWS), appended(out.Azure, d.Azure), appended(out.GCP, d.GCP)
		out.OpenStack, out.VSphere, out.Nutanix = append(out.OpenStack, d.OpenStack...), append(out.VSphere, d.VSphere...), append(out.Nutanix, d.Nutanix...)
	}
	return out
}

func appended[T any](list, more *[]T) *[]T {
	if more == nil {
		return list
	}
	out := append(slices.Clone(deref(list)), *more...)
	return &out
}

func awsFound([]map[string]any, *configv1.Infrastructure) finder {
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		s := as[machinev1beta1.AWSMachineProviderConfig](spec)
		return machinev1.FailureDomains{AWS: &[]machinev1.AWSFailureDomain{{
			Placement: machinev1.AWSFailureDomainPlacement{AvailabilityZone: s.Placement.AvailabilityZone}, Subnet: awsSubnet(s.Subnet),
		}}}, s.Placement.AvailabilityZone != ""
	}
}

// awsSubnet is a providerSpec's reference in the words of the set's union.
func awsSubnet(r machinev1beta1.AWSResourceReference) *machinev1.AWSResourceReference {
	switch {
	case r.ID != nil:
		return &machinev1.AWSResourceReference{Type: machinev1.AWSIDReferenceType, ID: r.ID}
	case r.ARN != nil:
		return &machinev1.AWSResourceReference{Type: machinev1.AWSARNReferenceType, ARN: r.ARN}
	case len(r.Filters) > 0:
		var filters []machinev1.AWSResourceFilter
		for _, f := range r.Filters {
			filters = append(filters, machinev1.AWSResourceFilter{Name: f.Name, Values: f.Values})
		}
		return &machinev1.AWSResourceReference{Type: machinev1.AWSFiltersReferenceType, Filters: &filters}
	}
	return nil
}

// azureFound leaves a subnet that the whole control plane has to the template. Where there are several, a zone has to be in one of them: workers' are others.
func azureFound(own []map[string]any, _ *configv1.Infrastructure) finder {
	var subnets []string
	for _, spec := range own {
		subnets = append(subnets, as[machinev1beta1.AzureMachineProviderSpec](spec).Subnet)
	}
	slices.Sort(subnets)
	subnets = slices.Compact(subnets)
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		s := as[machinev1beta1.AzureMachineProviderSpec](spec)
		d := machinev1.AzureFailureDomain{Zone: s.Zone}
		if len(subnets) > 1 {
			d.Subnet = s.Subnet
		}
		return machinev1.FailureDomains{Azure: &[]machinev1.AzureFailureDomain{d}}, s.Zone != "" && (len(subnets) < 2 || slices.Contains(subnets, s.Subnet))
	}
}

func gcpFound([]map[string]any, *configv1.Infrastructure) finder {
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		zone := as[machinev1beta1.GCPMachineProviderSpec](spec).Zone
		return machinev1.FailureDomains{GCP: &[]machinev1.GCPFailureDomain{{Zone: zone}}}, zone != ""
	}
}

// openStackFound names the root volume's zone too where the control plane's volumes have one: the set's union wants it together with its type.
func openStackFound(own []map[string]any, _ *configv1.Infrastructure) finder {
	var types []string
	placed := func(v *machinev1alpha1.RootVolume) bool { return v != nil && v.Zone != "" && v.VolumeType != "" }
	for _, spec := range own {
		if v := as[machinev1alpha1.OpenstackProviderSpec](spec).RootVolume; placed(v) {
			types = append(types, v.VolumeType)
		}
	}
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		s := as[machinev1alpha1.OpenstackProviderSpec](spec)
		d := machinev1.OpenStackFailureDomain{AvailabilityZone: s.AvailabilityZone}
		if v := s.RootVolume; placed(v) && slices.Contains(types, v.VolumeType) {
			d.RootVolume = &machinev1.RootVolume{AvailabilityZone: v.Zone, VolumeType: v.VolumeType}
		}
		return machinev1.FailureDomains{OpenStack: []machinev1.OpenStackFailureDomain{d}}, d.AvailabilityZone != "" || d.RootVolume != nil
	}
}

// vSphereFound names the first of the Infrastructure's failure domains that a providerSpec is in.
func vSphereFound(_ []map[string]any, i *configv1.Infrastructure) finder {
	return described(configv1.VSpherePlatformType, i, func(i *configv1.Infrastructure) []string {
		if i.Spec.PlatformSpec.VSphere == nil {
			return nil
		}
		return listed(i.Spec.PlatformSpec.VSphere.FailureDomains, func(d configv1.VSpherePlatformFailureDomainSpec) string { return d.Name })
	}, func(name string) machinev1.FailureDomains {
		return machinev1.FailureDomains{VSphere: []machinev1.VSphereFailureDomain{{Name: name}}}
	})
}

// nutanixFound does the same on Nutanix.
func nutanixFound(_ []map[string]any, i *configv1.Infrastructure) finder {
	return described(configv1.NutanixPlatformType, i, func(i *configv1.Infrastructure) []string {
		if i.Spec.PlatformSpec.Nutanix == nil {
			return nil
		}
		return listed(i.Spec.PlatformSpec.Nutanix.FailureDomains, func(d configv1.NutanixFailureDomain) string { return d.Name })
	}, func(name string) machinev1.FailureDomains {
		return machinev1.FailureDomains{Nutanix: []machinev1.NutanixFailureDomainReference{{Name: name}}}
	})
}

// described finds among failure domains that the Infrastructure describes.
func described(platform configv1.PlatformType, i *configv1.Infrastructure, known func(*configv1.Infrastructure) []string, union func(string) machinev1.FailureDomains) finder {
	row := platformNamed(platform)
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		for _, name := range known(i) {
			one := union(name)
			if all, errs := row.domains(one, i); len(errs) == 0 && len(all) == 1 && all[0].holds(row, spec) {
				return one, true
			}
		}
		return machinev1.FailureDomains{}, false
	}
}

func listed[T any](all []T, name func(T) string) []string {
	var out []string
	for _, one := range all {
		out = append(out, name(one))
	}
	return out
}
