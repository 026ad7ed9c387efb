// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1alpha1 "github.com/openshift/api/machine/v1alpha1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/controlplane/platform"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// resolved is the template's providerSpec as a Machine gets it in one failure domain.
type resolved struct {
	// domain is the failure domain; nil if the set has none.
	domain *platform.Domain
	spec   map[string]any
	// template is the set's own providerSpec, without the domain.
	template       map[string]any
	infrastructure *configv1.Infrastructure
	// all are the set's failure domains.
	all []platform.Domain
	// ofClusterAPI reports that Cluster API creates the instances of the set's new Machines.
	ofClusterAPI bool
}

// findings are the errors and warnings about a providerSpec, by path below it.
type findings struct {
	denied, warned []finding
}

// finding is an error or a warning about one member of a providerSpec. value is the member's value, "" for none.
type finding struct{ path, message, value string }

func (f *findings) deny(path, format string, args ...any) {
	f.denied = append(f.denied, finding{path: path, message: fmt.Sprintf(format, args...)})
}

func (f *findings) warn(path, format string, args ...any) {
	f.warned = append(f.warned, finding{path: path, message: fmt.Sprintf(format, args...)})
}

// everywhere returns the check of a rule about one platform. It runs the function check on the providerSpec in each failure domain, and reports equal findings
// only once.
func everywhere(name configv1.PlatformType, check func(resolved) findings) func(*proposal) policies.Verdict {
	return func(p *proposal) policies.Verdict {
		if p.platform().Name != name || p.providerSpec() == nil {
			return policies.Verdict{}
		}
		if kind, _ := p.providerSpec()["kind"].(string); kind != "" && kind != p.platform().Kind {
			return policies.Verdict{}
		}
		all := p.resolved()
		var denied, warned collection
		for _, r := range all {
			f := check(r)
			denied.add(r, f.denied)
			warned.add(r, f.warned)
		}
		return policies.Verdict{Denials: denied.errors(len(all)), Warnings: warned.sentences(len(all))}
	}
}

// resolved returns the set's providerSpec for each failure domain. If the set has no failure domain, it returns one item, with the template's own providerSpec.
func (p *proposal) resolved() []resolved {
	plan := p.plan()
	base := resolved{spec: plan.Spec, template: plan.Spec, infrastructure: p.Infrastructure, all: plan.Domains,
		ofClusterAPI: plan.MakesFor() == machinev1beta1.MachineAuthorityClusterAPI}
	if len(plan.Domains) == 0 {
		return []resolved{base}
	}
	var out []resolved
	for i := range plan.Domains {
		r := base
		r.domain, r.spec = &plan.Domains[i], plan.Domains[i].In(plan.Spec)
		out = append(out, r)
	}
	return out
}

// collection has the findings of several failure domains, each once, in order.
type collection []collected

type collected struct {
	finding
	domains []string
}

func (c *collection) add(r resolved, found []finding) {
	for _, f := range found {
		if v := values.At(r.spec, values.Path(f.path)); v != nil && v != "" {
			f.value = values.Text(v)
		}
		i := slices.IndexFunc(*c, func(known collected) bool { return known.finding == f })
		if i < 0 {
			i = len(*c)
			*c = append(*c, collected{finding: f})
		}
		if r.domain != nil {
			(*c)[i].domains = append((*c)[i].domains, r.domain.Name)
		}
	}
}

// text returns the finding's message. If not all failure domains have the finding, the names of those that have it follow.
func (c collected) text(all int) string {
	if len(c.domains) == 0 || len(c.domains) == all {
		return c.message
	}
	return fmt.Sprintf("%s (in the failure domain %s)", c.message, strings.Join(c.domains, ", "))
}

func (c collection) errors(all int) field.ErrorList {
	var out field.ErrorList
	for _, f := range c {
		path := platform.ProviderSpecPath().Child(f.path)
		if f.value != "" {
			out = append(out, field.Invalid(path, f.value, f.text(all)))
		} else {
			out = append(out, field.Required(path, f.text(all)))
		}
	}
	return out
}

func (c collection) sentences(all int) []string {
	var out []string
	for _, f := range c {
		out = append(out, fmt.Sprintf("%s: %s", platform.ProviderSpecPath().Child(f.path), f.text(all)))
	}
	return out
}

// status returns the platform's part of the Infrastructure's status, an empty one if it has none.
func (r resolved) status() configv1.PlatformStatus {
	if r.infrastructure == nil || r.infrastructure.Status.PlatformStatus == nil {
		return configv1.PlatformStatus{}
	}
	return *r.infrastructure.Status.PlatformStatus
}

// taken is the text of a warning about an instance that its cloud may terminate at any time.
const taken = "with this field the cloud may terminate the instance at any moment, and its etcd member with it. Leave the field out"

// aws refuses a region that is not the cluster's, because nothing would work there. If the load balancer is missing, it only warns, because the load may be
// balanced by other means.
func aws(r resolved) (f findings) {
	s := platform.As[machinev1beta1.AWSMachineProviderConfig](r.spec)
	if own := r.status().AWS; own != nil && own.Region != "" && s.Placement.Region != "" && s.Placement.Region != own.Region {
		f.deny("placement.region", "the cluster is in the region %s, and its control plane cannot be in another region", own.Region)
	}
	if s.AMI.ID == nil && s.AMI.ARN == nil && len(s.AMI.Filters) == 0 {
		f.warn("ami", "no instance is created without an image: set ami.id")
	}
	switch without := s.Subnet.ID == nil && s.Subnet.ARN == nil && len(s.Subnet.Filters) == 0; {
	case without && r.ofClusterAPI:
		f.warn("subnet", "without a subnet, Cluster API takes one that spec.network.subnets of the AWSCluster lists for the Machine's zone. "+
			"If the AWSCluster lists none for that zone, Cluster API creates no instance")
	case without:
		f.warn("subnet", "without a subnet, a Machine gets the first subnet that AWS lists in the Machine's zone")
	}
	if len(s.LoadBalancers) == 0 {
		f.warn("loadBalancers", "without this field a new Machine is behind no load balancer, so no client reaches its API server. Leave the field out only if "+
			"you balance the load yourself")
	}
	if s.SpotMarketOptions != nil || s.MarketType == machinev1beta1.MarketTypeSpot {
		f.warn("spotMarketOptions", taken)
	}
	return f
}

func azure(r resolved) (f findings) {
	s := platform.As[machinev1beta1.AzureMachineProviderSpec](r.spec)
	if s.InternalLoadBalancer == "" {
		f.deny("internalLoadBalancer",
			"Nodes reach the API server through this load balancer, and without this field a new Machine is not behind it: set the name as in a running Machine")
	}
	if s.Subnet == "" {
		f.warn("subnet", "no Machine is created without a subnet: name one")
	}
	if s.SpotVMOptions != nil {
		f.warn("spotVMOptions", taken)
	}
	return f
}

// gcp refuses a region that is not the cluster's, and a zone of another region. If target pools are missing, it only warns, for the reason given at aws.
func gcp(r resolved) (f findings) {
	s, own := platform.As[machinev1beta1.GCPMachineProviderSpec](r.spec), r.status().GCP
	if own != nil && own.Region != "" {
		if s.Region != "" && s.Region != own.Region {
			f.deny("region", "the cluster is in the region %s, and its control plane cannot be in another region", own.Region)
		}
		if s.Zone != "" && !strings.HasPrefix(s.Zone, own.Region+"-") {
			f.deny("zone", "%s is not a zone of the cluster's region %s", s.Zone, own.Region)
		}
	}
	if own != nil && own.ProjectID != "" && s.ProjectID != "" && s.ProjectID != own.ProjectID {
		f.warn("projectID", "the cluster is in the project %s, but new Machines would be in the project that this field names", own.ProjectID)
	}
	if len(s.TargetPools) == 0 {
		f.warn("targetPools", "without this field a new Machine is in no target pool, so no client outside the cluster reaches its API server. Leave the field "+
			"out only if the API is not published")
	}
	if s.Preemptible {
		f.warn("preemptible", taken)
	}
	if s.ProvisioningModel != nil && *s.ProvisioningModel == machinev1beta1.GCPSpotInstance {
		f.warn("provisioningModel", taken)
	}
	return f
}

// etcdDevice is the name by which a control plane's Node finds etcd's disk. etcdDeviceGiB is the minimum size of this disk.
const (
	etcdDevice    = "etcd"
	etcdDeviceGiB = 10
)

func openStack(r resolved) (f findings) {
	if v, ok := r.spec["rootVolume"].(map[string]any); ok && r.domain != nil && r.domain.Under("rootVolume.") && !positive(v["diskSize"]) {
		f.deny("rootVolume.diskSize", "the failure domains name a root volume (rootVolume), and no root volume is created without a size: give the size in GiB")
	}
	seen := sets.New[string]()
	for i, d := range platform.As[machinev1alpha1.OpenstackProviderSpec](r.spec).AdditionalBlockDevices {
		path := values.Item("additionalBlockDevices", i)
		switch {
		case seen.Has(d.Name):
			f.deny(path+".name", "another block device has the name %s too: give each block device its own name", values.Text(d.Name))
		case d.Name != etcdDevice:
			f.warn(path+".name", "a control plane uses only the block device named %s, and nothing uses this one, which is named %s", etcdDevice, values.Text(d.Name))
		case d.SizeGiB < etcdDeviceGiB:
			f.deny(path+".sizeGiB", "the block device for etcd needs at least %d GiB", etcdDeviceGiB)
		}
		seen.Insert(d.Name)
	}
	return f
}

func positive(v any) bool {
	n, ok := v.(float64)
	return ok && n > 0
}

func vSphere(r resolved) (f findings) {
	s := platform.As[machinev1beta1.VSphereMachineProviderSpec](r.spec)
	w := s.Workspace
	if w == nil {
		w = &machinev1beta1.Workspace{}
	}
	if s.Template == "" {
		f.deny("template", "a Machine is cloned from a template: name the template in this field, or in topology.template of each failure domain in the "+
			"Infrastructure")
	}
	if !slices.ContainsFunc(s.Network.Devices, func(d machinev1beta1.NetworkDeviceSpec) bool { return d.NetworkName != "" }) {
		f.deny("network.devices", "a Machine needs a network: set networkName in this field, or topology.networks of each failure domain in the Infrastructure")
	}
	f.center(r, *w)
	if dir := "/" + w.Datacenter + "/vm/"; w.Datacenter != "" {
		if w.Folder != "" && !strings.HasPrefix(w.Folder, dir) {
			f.deny("workspace.folder", "%s is not a folder of the datacenter %s: the path of such a folder begins with %s", w.Folder, w.Datacenter, dir)
		}
		// vSphere looks for a template without a path by its name.
		if name, in := strings.CutPrefix(s.Template, dir); strings.Contains(s.Template, "/") && (!in || name == "" || strings.HasSuffix(name, "/")) {
			f.deny("template", "%s is not a template of the datacenter %s: the path of such a template begins with %s and ends with the template's "+
				"name", s.Template, w.Datacenter, dir)
		}
	}
	f.overridden(r)
	return f
}

// center refuses a workspace whose vCenter or datacenter is missing, or is not in the Infrastructure.
func (f *findings) center(r resolved, w machinev1beta1.Workspace) {
	for path, v := range map[string]string{"workspace.server": w.Server, "workspace.datacenter": w.Datacenter} {
		if v == "" {
			f.deny(path, "no Machine is created without this field: set the field, or list failure domains of the Infrastructure")
		}
	}
	slices.SortFunc(f.denied, func(a, b finding) int { return strings.Compare(a.path, b.path) })
	known := r.vCenters()
	if len(known) == 0 || w.Server == "" {
		return
	}
	at := slices.IndexFunc(known, func(v configv1.VSpherePlatformVCenterSpec) bool { return v.Server == w.Server })
	switch {
	case at < 0:
		f.deny("workspace.server", "the Infrastructure has no vCenter %s, only %s", w.Server,
			strings.Join(values.Names(known, func(v configv1.VSpherePlatformVCenterSpec) string { return v.Server }), ", "))
	case w.Datacenter != "" && !slices.Contains(known[at].Datacenters, w.Datacenter):
		f.deny("workspace.datacenter", "the vCenter %s of the Infrastructure has no datacenter %s, only %s",
			w.Server, w.Datacenter, strings.Join(known[at].Datacenters, ", "))
	}
}

func (r resolved) vCenters() []configv1.VSpherePlatformVCenterSpec {
	if r.infrastructure == nil || r.infrastructure.Spec.PlatformSpec.VSphere == nil {
		return nil
	}
	return r.infrastructure.Spec.PlatformSpec.VSphere.VCenters
}

// overridden warns about fields of the template that have no effect because the failure domains override them.
func (f *findings) overridden(r resolved) {
	if r.domain == nil {
		return
	}
	for _, s := range r.domain.Sets {
		own := values.At(r.template, values.Path(s.Path))
		if s.Yields || own == nil || own == "" || own == s.Value {
			continue
		}
		if strings.Contains(s.Path, "[") { // a network: each failure domain has its own
			if !slices.ContainsFunc(r.all, func(d platform.Domain) bool { return !d.Replaces(s.Path, own) }) {
				f.warn(s.Path, "each failure domain replaces %s with its own network: leave this field out", values.Text(own))
			}
			continue
		}
		f.warn(s.Path, "%s has no effect, because the failure domain sets %s", values.Text(own), values.Text(s.Value))
	}
}

func nutanix(r resolved) (f findings) {
	s := platform.As[machinev1.NutanixMachineProviderConfig](r.spec)
	f.identifier("cluster", s.Cluster)
	f.identifier("image", s.Image)
	if len(s.Subnets) == 0 {
		f.deny("subnets", "a Machine needs a subnet: give the subnet's name or UUID")
	}
	seen := sets.New[string]()
	for i, subnet := range s.Subnets {
		path := values.Item("subnets", i)
		f.identifier(path, subnet)
		if key := values.Text(values.Plain(subnet)); seen.Has(key) {
			f.deny(path, "the subnet is listed twice")
		} else {
			seen.Insert(key)
		}
	}
	return f
}

// identifier refuses an identifier that lacks the member which its type names.
func (f *findings) identifier(path string, id machinev1.NutanixResourceIdentifier) {
	var member string
	var value *string
	switch id.Type {
	case machinev1.NutanixIdentifierName:
		member, value = "name", id.Name
	case machinev1.NutanixIdentifierUUID:
		member, value = "uuid", id.UUID
	default:
		f.deny(path+".type", "the type must be name or uuid")
		return
	}
	if value == nil || *value == "" {
		f.deny(path+"."+member, "the identifier has the type %s, which needs this field", member)
	}
}
