// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func awsDomains(f machinev1.FailureDomains, _ *configv1.Infrastructure) ([]Domain, field.ErrorList) {
	var out []Domain
	for _, d := range deref(f.AWS) {
		domain := Domain{Name: d.Placement.AvailabilityZone}
		domain.put("placement.availabilityZone", d.Placement.AvailabilityZone)
		if s := d.Subnet; s != nil {
			domain.sets = append(domain.sets, setting{path: "subnet", value: awsReference(*s)})
		}
		out = append(out, domain)
	}
	return out, nil
}

// awsReference is a reference of the set's union in the words of a providerSpec.
func awsReference(r machinev1.AWSResourceReference) any {
	out := map[string]any{}
	if r.ID != nil {
		out["id"] = *r.ID
	}
	if r.ARN != nil {
		out["arn"] = *r.ARN
	}
	if r.Filters != nil {
		out["filters"] = plain(*r.Filters)
	}
	return out
}

func azureDomains(f machinev1.FailureDomains, _ *configv1.Infrastructure) ([]Domain, field.ErrorList) {
	var out []Domain
	for _, d := range deref(f.Azure) {
		domain := Domain{Name: d.Zone}
		domain.put("zone", d.Zone)
		domain.put("subnet", d.Subnet)
		out = append(out, domain)
	}
	return out, nil
}

func gcpDomains(f machinev1.FailureDomains, _ *configv1.Infrastructure) ([]Domain, field.ErrorList) {
	var out []Domain
	for _, d := range deref(f.GCP) {
		domain := Domain{Name: d.Zone}
		domain.put("zone", d.Zone)
		out = append(out, domain)
	}
	return out, nil
}

func openStackDomains(f machinev1.FailureDomains, _ *configv1.Infrastructure) ([]Domain, field.ErrorList) {
	var out []Domain
	for _, d := range f.OpenStack {
		domain := Domain{Name: d.AvailabilityZone}
		domain.put("availabilityZone", d.AvailabilityZone)
		if v := d.RootVolume; v != nil {
			domain.put("rootVolume.availabilityZone", v.AvailabilityZone)
			domain.put("rootVolume.volumeType", v.VolumeType)
			domain.Name = cmp.Or(domain.Name, v.AvailabilityZone, v.VolumeType)
		}
		out = append(out, domain)
	}
	return out, nil
}

// vSphereDomains are named in the set, and described in the Infrastructure.
func vSphereDomains(f machinev1.FailureDomains, i *configv1.Infrastructure) ([]Domain, field.ErrorList) {
	var out []Domain
	var errs field.ErrorList
	var known []configv1.VSpherePlatformFailureDomainSpec
	if i != nil && i.Spec.PlatformSpec.VSphere != nil {
		known = i.Spec.PlatformSpec.VSphere.FailureDomains
	}
	for n, d := range f.VSphere {
		at := slices.IndexFunc(known, func(k configv1.VSpherePlatformFailureDomainSpec) bool { return k.Name == d.Name })
		if at < 0 {
			errs = append(errs, notInInfrastructure(domainsPath("vsphere").Index(n).Child("name"), d.Name, "vsphere", names(known, func(k configv1.VSpherePlatformFailureDomainSpec) string { return k.Name })))
			out = append(out, Domain{Name: d.Name})
			continue
		}
		out = append(out, vSphereDomain(known[at], i.Status.InfrastructureName))
	}
	return out, errs
}

func vSphereDomain(k configv1.VSpherePlatformFailureDomainSpec, cluster string) Domain {
	t := k.Topology
	d := Domain{Name: k.Name}
	d.put("workspace.server", k.Server)
	d.put("workspace.datacenter", t.Datacenter)
	d.put("workspace.datastore", t.Datastore)
	d.put("workspace.resourcePool", cmp.Or(t.ResourcePool, t.ComputeCluster+"/Resources"))
	d.put("workspace.folder", cmp.Or(t.Folder, "/"+t.Datacenter+"/vm/"+cluster))
	image := setting{path: "template", value: t.Template, aside: true}
	if t.Template == "" {
		// As its field in the Infrastructure promises. A set that names one knows better: the domain may have been made for a cluster that was there before.
		image.value, image.yields = fmt.Sprintf("/%s/vm/%s-rhcos-%s-%s", t.Datacenter, cluster, k.Region, k.Zone), true
	}
	d.sets = append(d.sets, image)
	if a := k.ZoneAffinity; a != nil && a.HostGroup != nil {
		d.put("workspace.vmGroup", a.HostGroup.VMGroup)
	}
	for i, network := range t.Networks {
		d.put(listItem("network.devices", i)+".networkName", network)
	}
	return d
}

// nutanixDomains are named in the set, and described in the Infrastructure.
func nutanixDomains(f machinev1.FailureDomains, i *configv1.Infrastructure) ([]Domain, field.ErrorList) {
	var out []Domain
	var errs field.ErrorList
	var known []configv1.NutanixFailureDomain
	if i != nil && i.Spec.PlatformSpec.Nutanix != nil {
		known = i.Spec.PlatformSpec.Nutanix.FailureDomains
	}
	for n, d := range f.Nutanix {
		domain := Domain{Name: d.Name}
		at := slices.IndexFunc(known, func(k configv1.NutanixFailureDomain) bool { return k.Name == d.Name })
		if at < 0 {
			errs = append(errs, notInInfrastructure(domainsPath("nutanix").Index(n).Child("name"), d.Name, "nutanix", names(known, func(k configv1.NutanixFailureDomain) string { return k.Name })))
		} else {
			domain.put("failureDomain.name", d.Name)
			domain.sets = append(domain.sets, setting{path: "cluster", value: nutanixIdentifier(known[at].Cluster)})
			var subnets []any
			for _, s := range known[at].Subnets {
				subnets = append(subnets, nutanixIdentifier(s))
			}
			domain.sets = append(domain.sets, setting{path: "subnets", value: subnets})
		}
		out = append(out, domain)
	}
	return out, errs
}

// nutanixIdentifier is one of the Infrastructure's in the words of a providerSpec, which spells its types in small letters.
func nutanixIdentifier(id configv1.NutanixResourceIdentifier) any {
	return plain(configv1.NutanixResourceIdentifier{Type: configv1.NutanixIdentifierType(strings.ToLower(string(id.Type))), UUID: id.UUID, Name: id.Name})
}

func notInInfrastructure(path *field.Path, name, platform string, known []string) *field.Error {
	return &field.Error{
		Type: field.ErrorTypeNotFound, Field: path.String(), BadValue: name,
		Detail: "the Infrastructure named cluster has no such failure domain in spec.platformSpec." + platform + ".failureDomains; it has " + listOr(known, "none"),
	}
}

// misplaced is why failure domains place nothing on a platform. Without them each Machine would be replaced by one that is nowhere.
func misplaced(f machinev1.FailureDomains, platform configv1.PlatformType) *field.Error {
	lists := len(deref(f.AWS))+len(deref(f.Azure))+len(deref(f.GCP))+len(f.VSphere)+len(f.OpenStack)+len(f.Nutanix) > 0
	switch named := string(f.Platform); {
	case named == "" && !lists:
		return nil
	case platform == "":
		return field.Invalid(domainsPath("platform"), named, "the Infrastructure named cluster does not exist or has no status.platformStatus.type: restore it from a backup, status included")
	case named != "" && named != string(platform):
		return field.Invalid(domainsPath("platform"), named, fmt.Sprintf("the platform of this cluster is %s", platform))
	}
	return nil
}
