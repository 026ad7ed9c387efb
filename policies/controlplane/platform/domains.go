// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies/controlplane/values"
)

func awsDomains(f machinev1.FailureDomains, _ *configv1.Infrastructure) ([]Domain, field.ErrorList) {
	var out []Domain
	for _, d := range values.Deref(f.AWS) {
		domain := Domain{Name: d.Placement.AvailabilityZone}
		domain.put("placement.availabilityZone", d.Placement.AvailabilityZone)
		if s := d.Subnet; s != nil {
			domain.Sets = append(domain.Sets, Setting{Path: "subnet", Value: awsReference(*s)})
		}
		out = append(out, domain)
	}
	return out, nil
}

// awsReference returns a reference of the set's union as a providerSpec writes it.
func awsReference(r machinev1.AWSResourceReference) any {
	out := map[string]any{}
	if r.ID != nil {
		out["id"] = *r.ID
	}
	if r.ARN != nil {
		out["arn"] = *r.ARN
	}
	if r.Filters != nil {
		out["filters"] = values.Plain(*r.Filters)
	}
	return out
}

func azureDomains(f machinev1.FailureDomains, _ *configv1.Infrastructure) ([]Domain, field.ErrorList) {
	var out []Domain
	for _, d := range values.Deref(f.Azure) {
		domain := Domain{Name: d.Zone}
		domain.put("zone", d.Zone)
		domain.put("subnet", d.Subnet)
		out = append(out, domain)
	}
	return out, nil
}

func gcpDomains(f machinev1.FailureDomains, _ *configv1.Infrastructure) ([]Domain, field.ErrorList) {
	var out []Domain
	for _, d := range values.Deref(f.GCP) {
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

// vSphereDomains returns failure domains that are named in the set and described in the Infrastructure.
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
			errs = append(errs, notInInfrastructure(DomainsPath("vsphere").Index(n).Child("name"), d.Name, "vsphere",
				values.Names(known, func(k configv1.VSpherePlatformFailureDomainSpec) string { return k.Name })))
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
	image := Setting{Path: "template", Value: path.Base(t.Template), aside: true} // OpenShift's operator writes the bare name too: vSphere finds it in any folder
	if t.Template == "" {
		// If the Infrastructure's failure domain names no template, this path is the one that the description of its field promises. A template in the set takes
		// precedence over the path, because the failure domain may have been made for an earlier cluster.
		image.Value, image.Yields = fmt.Sprintf("/%s/vm/%s-rhcos-%s-%s", t.Datacenter, cluster, k.Region, k.Zone), true
	}
	d.Sets = append(d.Sets, image)
	if a := k.ZoneAffinity; a != nil && a.HostGroup != nil {
		d.put("workspace.vmGroup", a.HostGroup.VMGroup)
	}
	for i, network := range t.Networks {
		d.put(values.Item("network.devices", i)+".networkName", path.Base(network)) // Machine API compares plain names, and the Infrastructure may have a path
	}
	return d
}

// nutanixDomains returns failure domains that are named in the set and described in the Infrastructure.
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
			errs = append(errs, notInInfrastructure(DomainsPath("nutanix").Index(n).Child("name"), d.Name, "nutanix",
				values.Names(known, func(k configv1.NutanixFailureDomain) string { return k.Name })))
		} else {
			domain.put("failureDomain.name", d.Name)
			domain.Sets = append(domain.Sets, Setting{Path: "cluster", Value: nutanixIdentifier(known[at].Cluster)})
			var subnets []any
			for _, s := range known[at].Subnets {
				subnets = append(subnets, nutanixIdentifier(s))
			}
			domain.Sets = append(domain.Sets, Setting{Path: "subnets", Value: subnets})
		}
		out = append(out, domain)
	}
	return out, errs
}

// nutanixIdentifier returns an identifier of the Infrastructure as a providerSpec writes it, whose types are in small letters.
func nutanixIdentifier(id configv1.NutanixResourceIdentifier) any {
	return values.Plain(configv1.NutanixResourceIdentifier{Type: configv1.NutanixIdentifierType(strings.ToLower(string(id.Type))), UUID: id.UUID, Name: id.Name})
}

func notInInfrastructure(path *field.Path, name, platform string, known []string) *field.Error {
	return &field.Error{
		Type: field.ErrorTypeNotFound, Field: path.String(), BadValue: name,
		Detail: "the Infrastructure named cluster has no such failure domain in spec.platformSpec." + platform + ".failureDomains, which has " +
			values.ListOr(known, "none"),
	}
}

// Misplaced returns an error if failure domains would have no effect: they name a platform that is not the cluster's, or the cluster's platform is not known.
// It returns nil if nothing is wrong. If such failure domains were ignored instead, each Machine would be replaced by one without a failure domain.
func Misplaced(f machinev1.FailureDomains, platform configv1.PlatformType) *field.Error {
	lists := len(values.Deref(f.AWS))+len(values.Deref(f.Azure))+len(values.Deref(f.GCP))+len(f.VSphere)+len(f.OpenStack)+len(f.Nutanix) > 0
	switch named := string(f.Platform); {
	case named == "" && !lists:
		return nil
	case platform == "":
		return field.Invalid(DomainsPath("platform"), named,
			"the Infrastructure named cluster does not exist or has no status.platformStatus.type: restore it from a backup, status included")
	case named != "" && named != string(platform):
		return field.Invalid(DomainsPath("platform"), named, fmt.Sprintf("the platform of this cluster is %s: list failure domains of this platform", platform))
	}
	return nil
}
