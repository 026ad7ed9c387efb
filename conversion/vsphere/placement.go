// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"path"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/conversion"
)

// placement is where a virtual machine runs, in Machine API's form. The values come from the machine, and also from its failure domain and the cluster.
type placement struct {
	machinev1beta1.Workspace
	// networks are the names of the devices' networks.
	networks []string
}

func placementTo(m *providerSpec) placement {
	out := placement{Workspace: *m.Workspace}
	for _, d := range m.Network.Devices {
		out.networks = append(out.networks, d.NetworkName)
	}
	return out
}

// placementFrom returns where Cluster API's controllers place a machine. If the machine has a failure domain in the Infrastructure, the failure domain's
// values take precedence over the machine's own fields. If neither of the two names a server, it is the VSphereCluster's.
func placementFrom(p *pass, c *infraSpec) placement {
	out := placement{Workspace: machinev1beta1.Workspace{
		Server: c.Server, Datacenter: c.Datacenter, Folder: c.Folder, Datastore: c.Datastore, ResourcePool: c.ResourcePool,
	}}
	for _, d := range c.Network.Devices {
		out.networks = append(out.networks, d.NetworkName)
	}
	if domain, ok := namedDomain(p, c); ok {
		out.moveInto(domain)
	}
	if out.Server == "" {
		out.Server = clusterServer(p)
	}
	if out.Datacenter == anyDatacenter {
		out.Datacenter = ""
	}
	return out
}

// moveInto replaces values of pl by the values of a failure domain, as Cluster API's controllers do. It does not replace a path that differs from the failure
// domain's only in spelling.
func (pl *placement) moveInto(d failureDomain) {
	pl.Server, pl.Datacenter, pl.VMGroup = d.Server, d.Topology.Datacenter, d.group()
	override(&pl.Datastore, d.Topology.Datastore)
	override(&pl.ResourcePool, d.pool())
	override(&pl.Folder, d.Topology.Folder)
}

func override(value *string, wins string) {
	if wins != "" && !alike(*value, wins) {
		*value = wins
	}
}

// alike reports whether two inventory paths are equal apart from their spelling. The spelling may differ because installers write
// /dc1/host/cluster1//Resources.
func alike(a, b string) bool { return path.Clean(a) == path.Clean(b) }

func workspace(m *providerSpec) *machinev1beta1.Workspace {
	if m.Workspace == nil {
		m.Workspace = &machinev1beta1.Workspace{}
	}
	return m.Workspace
}

// clusterServer returns the vCenter for which Cluster API has credentials. This is the VSphereCluster's. If the VSphereCluster names none, and the
// Infrastructure has only one vCenter, it is that one. Otherwise the vCenter is unknown, and the result is "".
func clusterServer(p *pass) string {
	if server, _ := p.Env.InfraClusterString("spec", "server"); server != "" {
		return hostOf(server)
	}
	list := vcenters(p)
	if len(list) != 1 {
		return ""
	}
	only, _ := list[0].(map[string]any)
	server, _ := only["server"].(string)
	return server
}

// hostOf returns the host of a vCenter. It is necessary because Cluster API also accepts a vCenter in the form https://HOST/sdk.
func hostOf(server string) string {
	if _, after, ok := strings.Cut(server, "://"); ok {
		server, _, _ = strings.Cut(after, "/")
	}
	return server
}

// vcenters returns the Infrastructure's list of vCenters.
func vcenters(p *pass) []any {
	centers, _, _ := unstructured.NestedFieldNoCopy(p.Env.Infrastructure, "spec", "platformSpec", "vsphere", "vcenters")
	list, _ := centers.([]any)
	return list
}

func serverTo(p *pass, m *providerSpec, c *infraSpec) {
	if m.Workspace == nil || m.Workspace.Server == "" {
		p.Required("workspace.server", "Machine API finds the vCenter only by its name: set workspace.server")
		return
	}
	c.Server = m.Workspace.Server
	sameServer(p, "workspace.server", c.Server)
}

func serverFrom(p *pass, c *infraSpec, m *providerSpec) {
	server := placementFrom(p, c).Server
	if server == "" {
		p.Required("server",
			"Machine API finds the vCenter only by its name, and neither the VSphereCluster nor the Infrastructure names the vCenter: set server")
		return
	}
	workspace(m).Server = server
	sameServer(p, "server", server)
}

// vcentersAnnotation is an annotation of a VSphereCluster. Its value has the names, separated by commas, of further vCenters for which the VSphereCluster's
// identity is valid.
const vcentersAnnotation = "poundlock.openshift.io/vcenters"

func otherVCenters(p *pass) []string {
	text, _ := p.Env.InfraClusterString("metadata", "annotations", vcentersAnnotation)
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// sameServer reports an error if Cluster API could not log in to a machine's vCenter. Cluster API logs in to every vCenter with the VSphereCluster's identity
// and thumbprint, which are for one vCenter. Machine API has credentials for each vCenter.
func sameServer(p *pass, path, server string) {
	want, others := clusterServer(p), otherVCenters(p)
	thumbprint, _ := p.Env.InfraClusterString("spec", "thumbprint")
	switch {
	case hostOf(server) != server:
		p.Invalid(path, server, fmt.Sprintf("give only the host name of the vCenter, which is %q, because Machine API finds a vCenter's credentials in the "+
			"Secret by the host name", hostOf(server)))
	case want == "" && p.Env.InfraCluster != nil && len(vcenters(p)) > 1:
		p.Amend("spec.server", nil,
			"The Infrastructure lists several vCenters, but the VSphereCluster does not name the vCenter for which its identity is valid. Name this vCenter",
			`{"spec":{"server":"SERVER"}}`, "")
	case want == "" || server == want || slices.Contains(others, server) && thumbprint == "":
	case p.Env.InfraCluster == nil:
		p.Differs(path, server, "the cluster's only vCenter", want)
	case slices.Contains(others, server):
		p.Unsupported(path, server,
			fmt.Sprintf("the VSphereCluster has spec.thumbprint, so Cluster API would expect the certificate of %q from this vCenter too: remove "+
				"spec.thumbprint from the VSphereCluster, or leave Machine API authoritative", want))
	default:
		p.Command(path, server,
			fmt.Sprintf("Cluster API logs in to every vCenter with the VSphereCluster's identity, which is for %q. If this identity cannot log in to the "+
				"machine's vCenter, leave Machine API authoritative, and let Cluster API create machines only in %[1]q. If the identity can log in to both "+
				"vCenters, for example because they are linked, annotate the VSphereCluster", want),
			fmt.Sprintf("kubectl annotate %s --overwrite %s", p.InfraCluster(), conversion.Argument(vcentersAnnotation+"="+strings.Join(append(others, server), ","))),
			"Add the vCenter to the VSphereCluster's annotation "+vcentersAnnotation)
	}
}

func thumbprintFrom(p *pass, c *infraSpec, _ *providerSpec) {
	want, _ := p.Env.InfraClusterString("spec", "thumbprint")
	const where = "the VSphereCluster's thumbprint"
	switch {
	case c.Thumbprint == "" || c.Thumbprint == want:
	case p.Env.InfraCluster == nil:
		p.Incomparable("thumbprint", c.Thumbprint, where)
	default:
		p.Differs("thumbprint", c.Thumbprint, where, want)
	}
}

// anyDatacenter is the value that Cluster API's webhook fills in for an absent datacenter. It means the only datacenter.
const anyDatacenter = "*"

func datacenterTo(_ *pass, m *providerSpec, c *infraSpec) {
	if c.Datacenter = anyDatacenter; m.Workspace != nil && m.Workspace.Datacenter != "" {
		c.Datacenter = m.Workspace.Datacenter
	}
}

func datacenterFrom(p *pass, c *infraSpec, m *providerSpec) {
	workspace(m).Datacenter = placementFrom(p, c).Datacenter
}

func folderTo(p *pass, m *providerSpec, c *infraSpec) {
	if m.Workspace != nil {
		checkFolder(p, "workspace.folder", *m.Workspace)
		c.Folder = m.Workspace.Folder
	}
}

func folderFrom(p *pass, c *infraSpec, m *providerSpec) {
	w := placementFrom(p, c).Workspace
	checkFolder(p, "folder", w)
	workspace(m).Folder = w.Folder
}

func checkFolder(p *pass, path string, w machinev1beta1.Workspace) {
	switch prefix := "/" + w.Datacenter + "/vm/"; {
	case w.Folder == "":
	case w.Datacenter == "" || w.Datacenter == anyDatacenter:
		p.Unsupported(path, w.Folder, "Machine API accepts a folder only together with its datacenter: name the datacenter")
	case !strings.HasPrefix(w.Folder, prefix):
		p.Unsupported(path, w.Folder, "Machine API accepts a folder only by its absolute path: give a path that begins with "+prefix)
	}
}

func datastoreTo(_ *pass, m *providerSpec, c *infraSpec) {
	if m.Workspace != nil {
		c.Datastore = m.Workspace.Datastore
	}
}

func datastoreFrom(p *pass, c *infraSpec, m *providerSpec) {
	workspace(m).Datastore = placementFrom(p, c).Datastore
}

func poolTo(_ *pass, m *providerSpec, c *infraSpec) {
	if m.Workspace != nil {
		c.ResourcePool = m.Workspace.ResourcePool
	}
}

func poolFrom(p *pass, c *infraSpec, m *providerSpec) {
	workspace(m).ResourcePool = placementFrom(p, c).ResourcePool
}

func groupTo(p *pass, m *providerSpec, _ *infraSpec) {
	if m.Workspace == nil {
		return
	}
	pl := placementTo(m)
	if p.Core.FailureDomain = domainOf(p, pl); p.Core.FailureDomain == "" && pl.VMGroup != "" {
		ungrouped(p, pl)
	}
}

// ungrouped reports an error for a machine with a vmGroup whose placement is not that of one of Cluster API's failure domains.
func ungrouped(p *pass, pl placement) {
	const why = "Cluster API adds a virtual machine to a VM group only through a failure domain. Create a VSphereFailureDomain and a VSphereDeploymentZone"
	if own := clusterServer(p); own != "" && pl.Server != own {
		p.Unsupported("workspace.vmGroup", pl.VMGroup,
			"Cluster API adds a virtual machine to a VM group only through a failure domain, and has failure domains only in the VSphereCluster's vCenter, "+
				"but this machine is in another vCenter: leave Machine API authoritative")
		return
	}
	name := placedIn(p, pl, func(string) bool { return true })
	if name == "" || p.Env.InfraCluster == nil {
		p.Unsupported("workspace.vmGroup", pl.VMGroup, why+" with the name of the Infrastructure's failure domain that has this VM group")
		return
	}
	p.Amend("status.failureDomains", nil, fmt.Sprintf(
		"%s named %s, with the placement of the Infrastructure's failure domain of this name. Then list the failure domain in the VSphereCluster", why, name),
		`{"spec":{"failureDomainSelector":{}}}`, fmt.Sprintf(`{"status":{"failureDomains":{%q:{}}}}`, name))
}

func groupFrom(p *pass, c *infraSpec, m *providerSpec) {
	name, pl := domainName(p, c), placementFrom(p, c)
	workspace(m).VMGroup = pl.VMGroup
	if own := text(c.FailureDomain); own != "" && own != name {
		p.Differs("failureDomain", own, "the Machine's spec.failureDomain", name)
		return
	}
	domain, ok := namedDomain(p, c)
	if ok && (!agree(p, c, domain) || ofASet(p)) {
		return
	}
	switch at, found := domainPath(p, c), domainOf(p, pl); {
	case found == name:
	case found == "":
		at.Unsupported("", name,
			"Machine API's providerSpec has no failure domain, only its placement. So the Infrastructure's spec and the VSphereCluster's status must list "+
				"a failure domain of this name, and the machine must have the placement of this failure domain")
	default:
		at.Differs("", name, "the failure domain that has this machine's placement", found)
	}
}

// domainName returns the name of the failure domain in which Cluster API places a machine. This is the Machine's or, if the Machine names none, the
// VSphereMachine's; "" for none.
func domainName(p *pass, c *infraSpec) string {
	if p.Core.FailureDomain != "" {
		return p.Core.FailureDomain
	}
	return text(c.FailureDomain)
}

// domainPath returns the pass at the field that the result of domainName comes from.
func domainPath(p *pass, c *infraSpec) *pass {
	switch {
	case p.Core.FailureDomain == "" && c.FailureDomain != nil:
		return p.At("failureDomain")
	case p.Core.Template:
		return p.Under("spec.template.spec.failureDomain")
	}
	return p.Under("spec.failureDomain")
}

// agree reports an error for each value of a machine that the machine's failure domain would replace by another value. It returns true if there is no such
// value.
func agree(p *pass, c *infraSpec, d failureDomain) bool {
	before := len(p.Errors())
	where := fmt.Sprintf("the value in failure domain %q of the Infrastructure", d.Name)
	same := func(path, text, domain string) {
		if text != "" && domain != "" && !alike(text, domain) {
			p.Differs(path, text, where, domain)
		}
	}
	same("server", c.Server, d.Server)
	if c.Datacenter != anyDatacenter {
		same("datacenter", c.Datacenter, d.Topology.Datacenter)
	}
	same("folder", c.Folder, d.Topology.Folder)
	same("datastore", c.Datastore, d.Topology.Datastore)
	same("resourcePool", c.ResourcePool, d.pool())
	for i := range min(len(c.Network.Devices), len(d.Topology.Networks)) {
		same(deviceAt(i)+".networkName", c.Network.Devices[i].NetworkName, path.Base(d.Topology.Networks[i]))
	}
	return len(p.Errors()) == before
}

// failureDomain is a failure domain of the Infrastructure.
type failureDomain struct {
	configv1.VSpherePlatformFailureDomainSpec
}

func failureDomains(p *pass) []configv1.VSpherePlatformFailureDomainSpec {
	var spec configv1.VSpherePlatformSpec
	value, _, _ := unstructured.NestedFieldNoCopy(p.Env.Infrastructure, "spec", "platformSpec", "vsphere")
	content, ok := value.(map[string]any)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(content, &spec) != nil {
		return nil // a spec that cannot be decoded counts as empty
	}
	return spec.FailureDomains
}

func namedDomain(p *pass, c *infraSpec) (failureDomain, bool) {
	name := domainName(p, c)
	if name == "" {
		return failureDomain{}, false
	}
	for _, d := range failureDomains(p) {
		if d.Name == name {
			return failureDomain{d}, true
		}
	}
	return failureDomain{}, false
}

// ofASet reports whether the converted object is the template of a ControlPlaneMachineSet. For such a template, the VSphereCluster need not offer the failure
// domain: the set names its failure domains as the Infrastructure does, and its Machines are converted one by one, each by its own placement.
func ofASet(p *pass) bool { return p.Core.Template && p.Core.ControlPlane }

// domainOf returns the name of the Infrastructure's first failure domain that has exactly the placement pl and that the VSphereCluster offers
// (offeredDomains); "" for none.
func domainOf(p *pass, pl placement) string {
	offered := offeredDomains(p)
	return placedIn(p, pl, func(name string) bool { _, ok := offered[name]; return ok })
}

// offeredDomains returns the VSphereCluster's failure domains that have a VSphereDeploymentZone. The zone is necessary: without it, Cluster API creates and
// deletes no virtual machine in a failure domain. The VSphereCluster's status is not enough as a proof that there are zones. If OpenShift manages the
// VSphereCluster, the status lists the failure domains of the ControlPlaneMachineSet, which have no zones. The provider reads zones only if
// spec.failureDomainSelector selects them, so the result is empty without a selector.
func offeredDomains(p *pass) map[string]any {
	if _, selects, _ := unstructured.NestedMap(p.Env.InfraCluster, "spec", "failureDomainSelector"); !selects {
		return nil
	}
	status, _, _ := unstructured.NestedFieldNoCopy(p.Env.InfraCluster, "status", "failureDomains")
	offered, _ := status.(map[string]any)
	return offered
}

// placedIn returns the name of the Infrastructure's first failure domain that has exactly the placement pl. It considers only names for which counts returns
// true. It returns "" if there is none.
func placedIn(p *pass, pl placement, counts func(name string) bool) string {
	for _, d := range failureDomains(p) {
		if counts(d.Name) && (failureDomain{d}).places(pl) {
			return d.Name
		}
	}
	return ""
}

func (d failureDomain) places(pl placement) bool {
	there := pl
	there.moveInto(d)
	return there.Workspace == pl.Workspace && d.connects(pl.networks)
}

func (d failureDomain) connects(networks []string) bool {
	n := len(d.Topology.Networks)
	return n <= len(networks) && slices.EqualFunc(d.Topology.Networks, networks[:n], func(a, b string) bool { return path.Base(a) == b })
}

// pool returns the failure domain's resource pool. If the failure domain names none, this is the default pool of its compute cluster, in the installer's
// form.
func (d failureDomain) pool() string {
	if d.Topology.ResourcePool != "" {
		return d.Topology.ResourcePool
	}
	return path.Join(d.Topology.ComputeCluster, "Resources")
}

func (d failureDomain) group() string {
	if d.ZoneAffinity == nil || d.ZoneAffinity.HostGroup == nil {
		return ""
	}
	return d.ZoneAffinity.HostGroup.VMGroup
}
