// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/internal/unread"
)

// platform is what differs from one infrastructure platform to the next.
type platform struct {
	name configv1.PlatformType
	// kind is the providerSpec's, spec an empty one of its Go type.
	kind string
	spec func() any
	// domains reads the set's failure domains. nil: the platform has none.
	domains func(machinev1.FailureDomains, *configv1.Infrastructure) ([]Domain, field.ErrorList)
	// found reads them off a providerSpec, in a cluster whose control plane has those given. nil where domains is.
	found func(own []map[string]any, i *configv1.Infrastructure) finder
	// unordered are the lists of the providerSpec whose order means nothing.
	unordered []string
	// boot is the image that an instance starts from, as far as the Machine Config Operator writes it: "" for none. In a list it is the boot disk's.
	boot string
	// void are members that the platform does not read. For hollow ones, an empty object means the same as none.
	void, hollow []string
	// defaults are the values that the platform takes where nothing is given.
	defaults map[string]any
	// counting may be nil: it leaves what counts of members that say the same thing, and what does not go by the order, in one order.
	counting func(spec map[string]any)
	// respell may be nil: it spells in one way what a providerSpec may spell in several.
	respell func(spec map[string]any)
	// usual are the values that this cluster's machines have where nothing is given.
	usual map[string]any
	// added is what every machine of this cluster has, with or without a field in its providerSpec.
	added map[string]any
}

// platforms is the only list of them; a platform that is not in it is generic: no failure domains, no providerSpec that is known.
func platforms() []platform {
	return []platform{
		{
			name: configv1.AWSPlatformType, kind: "AWSMachineProviderConfig", boot: "ami", spec: func() any { return &machinev1beta1.AWSMachineProviderConfig{} },
			domains: awsDomains, found: awsFound, unordered: []string{"tags", "securityGroups", "loadBalancers", "placement.host.dedicatedHost.dynamicHostAllocation.tags"},
			void: []string{"blockDevices[].ebs.deleteOnTermination"}, hollow: []string{"cpuOptions"}, counting: awsSpelling, defaults: map[string]any{
				"credentialsSecret.name": "aws-cloud-credentials", "blockDevices[].ebs.iops": 0.0, "blockDevices[].ebs.throughputMib": 0.0,
				"placement.host.dedicatedHost.allocationStrategy": string(machinev1beta1.AllocationStrategyUserProvided),
			},
		},
		{
			name: configv1.AzurePlatformType, kind: "AzureMachineProviderSpec", boot: "image", spec: func() any { return &machinev1beta1.AzureMachineProviderSpec{} },
			domains: azureDomains, found: azureFound, unordered: []string{"applicationSecurityGroups", "dataDisks"},
			hollow: []string{"securityProfile"}, counting: azureSpelling, defaults: map[string]any{
				"credentialsSecret.name": "azure-cloud-credentials", "credentialsSecret.namespace": ownNamespace, "userDataSecret.namespace": ownNamespace,
				"osDisk.osType": "Linux", "osDisk.cachingType": "None", "dataDisks[].cachingType": "None", "dataDisks[].managedDisk.storageAccountType": string(machinev1beta1.StorageAccountPremiumLRS),
				"image.type": string(machinev1beta1.AzureImageTypeMarketplaceNoPlan),
			},
		},
		{
			name: configv1.GCPPlatformType, kind: "GCPMachineProviderSpec", boot: "disks[].image", spec: func() any { return &machinev1beta1.GCPMachineProviderSpec{} },
			domains: gcpDomains, found: gcpFound, unordered: []string{"tags", "targetPools", "resourceManagerTags"},
			counting: gcpSpelling, defaults: map[string]any{"credentialsSecret.name": "gcp-cloud-credentials", "disks[].type": "pd-standard"},
		},
		{
			name: configv1.OpenStackPlatformType, kind: "OpenstackProviderSpec", spec: func() any { return &machinev1alpha1.OpenstackProviderSpec{} },
			domains: openStackDomains, found: openStackFound, unordered: []string{"securityGroups", "tags"},
			void: unread.Members(string(configv1.OpenStackPlatformType)), hollow: []string{"additionalBlockDevices[].storage.volume"},
			counting: openStackReferences, respell: openStackGroups,
			defaults: map[string]any{"cloudsSecret.namespace": ownNamespace, "userDataSecret.namespace": ownNamespace},
		},
		{
			name: configv1.VSpherePlatformType, kind: "VSphereMachineProviderSpec", spec: func() any { return &machinev1beta1.VSphereMachineProviderSpec{} },
			domains: vSphereDomains, found: vSphereFound, unordered: []string{"tagIDs"},
			defaults: map[string]any{
				"credentialsSecret.name": "vsphere-cloud-credentials", "workspace.datacenter": "*", "cloneMode": string(machinev1beta1.FullClone),
			}, respell: bareTemplate,
		},
		{
			name: configv1.NutanixPlatformType, kind: "NutanixMachineProviderConfig", spec: func() any { return &machinev1.NutanixMachineProviderConfig{} },
			domains: nutanixDomains, found: nutanixFound, unordered: []string{"categories"},
			defaults: map[string]any{"credentialsSecret.name": "nutanix-credentials"},
		},
		{
			name: configv1.PowerVSPlatformType, kind: "PowerVSMachineProviderConfig", spec: func() any { return &machinev1.PowerVSMachineProviderConfig{} },
			defaults: map[string]any{
				"credentialsSecret.name": "powervs-credentials", "systemType": "s922", "processorType": string(machinev1.PowerVSProcessorTypeShared), "memoryGiB": 32.0,
			}, respell: powerVSProcessors,
		},
	}
}

// platformNamed is the row of a platform, a generic one if there is none.
func platformNamed(name configv1.PlatformType) platform {
	all := platforms()
	if i := slices.IndexFunc(all, func(p platform) bool { return p.name == name }); i >= 0 {
		return all[i]
	}
	return platform{name: name}
}

// PlatformOf is the platform of the cluster that an Infrastructure describes; "" where it does not say, or there is none.
func PlatformOf(i *configv1.Infrastructure) configv1.PlatformType {
	if i == nil || i.Status.PlatformStatus == nil {
		return ""
	}
	return i.Status.PlatformStatus.Type
}

// rowOf is the row by which a template is read. Where the Infrastructure does not name the platform, the template does: nothing is made there,
// but what its Machines differ in is still compared by meaning.
func rowOf(t machinev1.OpenShiftMachineV1Beta1MachineTemplate, i *configv1.Infrastructure) platform {
	name := PlatformOf(i)
	if f := t.FailureDomains; name == "" && f != nil {
		name = f.Platform
	}
	if name != "" {
		row := platformNamed(name)
		row.added, row.usual = added(i), usual(i)
		return row
	}
	kind, _ := providerSpec(t.Spec)["kind"].(string)
	all := platforms()
	if at := slices.IndexFunc(all, func(p platform) bool { return p.kind == kind }); at >= 0 {
		return all[at]
	}
	return platform{}
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

// Domain is a failure domain: what it sets in a providerSpec.
type Domain struct {
	// Name is what people call it: a zone, or its name in the Infrastructure.
	Name string
	sets []setting
}

// setting is one member of a providerSpec: "placement.availabilityZone", "network.devices[0].networkName".
type setting struct {
	path  string
	value any
	// yields: the providerSpec's own value counts.
	yields bool
	// aside: it has the source of a Machine, and not its place.
	aside bool
}

// same reports whether two domains set the same.
func (d Domain) same(other Domain) bool { return d.key() == other.key() }

func (d Domain) key() string {
	all := slices.Clone(d.sets)
	slices.SortFunc(all, func(a, b setting) int { return strings.Compare(a.path, b.path) })
	text, err := json.Marshal(pairs(all))
	if err != nil {
		return d.Name
	}
	return string(text)
}

func pairs(all []setting) [][2]any {
	var out [][2]any
	for _, s := range all {
		out = append(out, [2]any{s.path, s.value})
	}
	return out
}

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
			domain.Name = first(domain.Name, v.AvailabilityZone, v.VolumeType)
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
	d.put("workspace.resourcePool", first(t.ResourcePool, t.ComputeCluster+"/Resources"))
	d.put("workspace.folder", first(t.Folder, "/"+t.Datacenter+"/vm/"+cluster))
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

// powerVSProcessors leaves out the number that Machine API takes where none is given. The processors are shared where no type is given.
func powerVSProcessors(spec map[string]any) {
	usual := "0.5"
	if spec["processorType"] == string(machinev1.PowerVSProcessorTypeDedicated) {
		usual = "1"
	}
	if n, ok := spec["processors"]; ok && text(n) == usual {
		delete(spec, "processors")
	}
}

// bareTemplate leaves out the folder in which vSphere looks for a template without one.
func bareTemplate(spec map[string]any) {
	datacenter, _ := member(spec, places("workspace.datacenter")).(string)
	template, _ := spec["template"].(string)
	if bare, ok := strings.CutPrefix(template, "/"+datacenter+"/vm/"); ok && !strings.Contains(bare, "/") {
		spec["template"] = bare
	}
}

// openStackGroups spells in one way which security groups each interface has: an entry of networks has the machine's, one of ports its own or
// else the machine's, and one without port security has none. Those that all interfaces have are the machine's.
func openStackGroups(spec map[string]any) {
	networks, _ := spec["networks"].([]any)
	ports, _ := spec["ports"].([]any)
	if len(networks)+len(ports) == 0 {
		return
	}
	machines, _ := spec["securityGroups"].([]any)
	needed, all := false, [][]any{}
	for _, n := range networks {
		secure := secured(n)
		needed = needed || secure
		all = append(all, groupsOf(secure, nil, machines))
	}
	for _, p := range ports {
		own, _ := asObject(p)["securityGroups"].([]any)
		all = append(all, groupsOf(secured(p), own, machines))
	}
	alike := !slices.ContainsFunc(all, func(g []any) bool { return !reflect.DeepEqual(g, all[0]) })
	for i, p := range ports {
		if o := asObject(p); alike {
			delete(o, "securityGroups")
		} else if g := all[len(networks)+i]; len(g) > 0 && o != nil {
			o["securityGroups"] = g
		}
	}
	if alike && len(all[0]) > 0 {
		spec["securityGroups"] = all[0]
	} else if !needed {
		delete(spec, "securityGroups")
	}
}

// groupsOf are the security groups of one interface, in the machine's spelling.
func groupsOf(secured bool, own, machines []any) []any {
	switch {
	case !secured:
		return nil
	case len(own) == 0:
		return machines
	}
	var out []any
	for _, id := range own {
		out = append(out, map[string]any{"uuid": id})
	}
	return sorted(out)
}

func secured(nic any) bool { return asObject(nic)["portSecurity"] != false }

func asObject(v any) map[string]any {
	o, _ := v.(map[string]any)
	return o
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

// put adds a setting, unless the domain leaves the field to the template.
func (d *Domain) put(path, value string) {
	if value != "" {
		d.sets = append(d.sets, setting{path: path, value: value})
	}
}

// domainsPath is where a set lists the failure domains of a platform.
func domainsPath(platform string) *field.Path {
	return templatePath().Child("failureDomains", platform)
}

func templatePath() *field.Path {
	return field.NewPath("spec", "template", string(machinev1.OpenShiftMachineV1Beta1MachineType))
}
