// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"encoding/json"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"

	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// finder is a function that returns the failure domain of a providerSpec, in the form of a set; false if the providerSpec is in none that a set could name.
type finder func(spec map[string]any) (machinev1.FailureDomains, bool)

func awsFound([]map[string]any, *configv1.Infrastructure) finder {
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		s := As[machinev1beta1.AWSMachineProviderConfig](spec)
		return machinev1.FailureDomains{AWS: &[]machinev1.AWSFailureDomain{{
			Placement: machinev1.AWSFailureDomainPlacement{AvailabilityZone: s.Placement.AvailabilityZone}, Subnet: awsSubnet(s.Subnet),
		}}}, s.Placement.AvailabilityZone != ""
	}
}

// awsSubnet returns a reference of a providerSpec as the set's union writes it.
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

// azureFound returns a finder for zones. If the whole control plane has the same subnet, the finder leaves the subnet to the template. If there are several
// subnets, it finds only failure domains with one of the control plane's subnets, because workers have other subnets.
func azureFound(own []map[string]any, _ *configv1.Infrastructure) finder {
	var subnets []string
	for _, spec := range own {
		subnets = append(subnets, As[machinev1beta1.AzureMachineProviderSpec](spec).Subnet)
	}
	slices.Sort(subnets)
	subnets = slices.Compact(subnets)
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		s := As[machinev1beta1.AzureMachineProviderSpec](spec)
		d := machinev1.AzureFailureDomain{Zone: s.Zone}
		if len(subnets) > 1 {
			d.Subnet = s.Subnet
		}
		return machinev1.FailureDomains{Azure: &[]machinev1.AzureFailureDomain{d}}, s.Zone != "" && (len(subnets) < 2 || slices.Contains(subnets, s.Subnet))
	}
}

func gcpFound([]map[string]any, *configv1.Infrastructure) finder {
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		zone := As[machinev1beta1.GCPMachineProviderSpec](spec).Zone
		return machinev1.FailureDomains{GCP: &[]machinev1.GCPFailureDomain{{Zone: zone}}}, zone != ""
	}
}

// openStackFound returns a finder for zones. The finder includes the root volume's zone if the volume has a zone and a type, and the control plane has volumes
// of that type with a zone. The set's union requires zone and type together.
func openStackFound(own []map[string]any, _ *configv1.Infrastructure) finder {
	var types []string
	placed := func(v *machinev1alpha1.RootVolume) bool { return v != nil && v.Zone != "" && v.VolumeType != "" }
	for _, spec := range own {
		if v := As[machinev1alpha1.OpenstackProviderSpec](spec).RootVolume; placed(v) {
			types = append(types, v.VolumeType)
		}
	}
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		s := As[machinev1alpha1.OpenstackProviderSpec](spec)
		d := machinev1.OpenStackFailureDomain{AvailabilityZone: s.AvailabilityZone}
		if v := s.RootVolume; placed(v) && slices.Contains(types, v.VolumeType) {
			d.RootVolume = &machinev1.RootVolume{AvailabilityZone: v.Zone, VolumeType: v.VolumeType}
		}
		return machinev1.FailureDomains{OpenStack: []machinev1.OpenStackFailureDomain{d}}, d.AvailabilityZone != "" || d.RootVolume != nil
	}
}

// vSphereFound returns a finder for the first of the Infrastructure's failure domains that a providerSpec is in.
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

// nutanixFound returns a finder for the first of the Infrastructure's failure domains that a providerSpec is in.
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

// described returns a finder for a platform whose failure domains are described in the Infrastructure. The function known lists the names of the failure
// domains, and the function union returns the failure domain of a name in the form of a set.
func described(platform configv1.PlatformType, i *configv1.Infrastructure, known func(*configv1.Infrastructure) []string,
	union func(string) machinev1.FailureDomains) finder {
	row := Named(platform)
	return func(spec map[string]any) (machinev1.FailureDomains, bool) {
		for _, name := range known(i) {
			one := union(name)
			if all, errs := row.Domains(one, i); len(errs) == 0 && len(all) == 1 && all[0].Holds(row, spec) {
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

// As returns a providerSpec as a T. It returns the zero value for a providerSpec that does not fit T, and another rule reports that.
func As[T any](spec map[string]any) T {
	var out T
	_ = json.Unmarshal(values.Raw(spec), &out)
	return out
}
