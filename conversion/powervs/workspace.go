// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
)

// workspaceTo converts the workspace, and reports an error if the workspace is not the cluster's. The provider reads the workspace's ID from the machine. If
// the machine has no ID, the provider reads the workspace's name from the IBMPowerVSCluster, and never from the machine (NewPowerVSMachineScope in the
// provider).
func workspaceTo(p *pass, m *providerSpec, c *infraSpec) {
	ref, ok := reference(p, "serviceInstance", m.ServiceInstance, machinev1.PowerVSResourceTypeID, machinev1.PowerVSResourceTypeName)
	if !ok {
		return
	}
	if ref.ID != nil {
		isTheClusters(p, "serviceInstance.id", *ref.ID)
	} else {
		isFound(p, *ref.Name)
	}
	c.ServiceInstance = &ref
}

func workspaceFrom(p *pass, c *infraSpec, m *providerSpec) {
	ref := ResourceReference{}
	if c.ServiceInstance != nil {
		ref = ResourceReference{ID: c.ServiceInstance.ID, Name: c.ServiceInstance.Name} // another row refuses the regular expression
	}
	path := "serviceInstance.id"
	if old := c.ServiceInstanceID; old != "" {
		path = "serviceInstanceID"
		if (ref.ID != nil && *ref.ID != old) || ref.Name != nil {
			p.Invalid(path, old, "a machine has either serviceInstanceID or serviceInstance, not both: remove serviceInstanceID")
			return
		}
		ref.ID = &old
	}
	out, ok := referenceBack(p, "serviceInstance", ref)
	switch {
	case out.ID != nil:
		isTheClusters(p, path, *out.ID)
	case out.Name != nil:
		isFound(p, *out.Name)
	case !ok && (c.ServiceInstance == nil || c.ServiceInstance.RegEx == nil):
		out = clustersOwn(p)
	}
	m.ServiceInstance = out
}

// workspaceID returns the ID of a machine's workspace. It returns "" if the machine does not name its workspace by ID.
func workspaceID(c *infraSpec) string {
	if c.ServiceInstanceID != "" || c.ServiceInstance == nil {
		return c.ServiceInstanceID
	}
	return text(c.ServiceInstance.ID)
}

// clusterWorkspaceID returns the ID of the cluster's workspace. It returns "" if the IBMPowerVSCluster does not have the ID. It reads the fields in the same
// order as the provider, which makes provider IDs from them.
func clusterWorkspaceID(p *pass) string {
	for _, path := range [][]string{{"status", "serviceInstance", "id"}, {"spec", "serviceInstanceID"}, {"spec", "serviceInstance", "id"}} {
		if id, _ := p.Env.InfraClusterString(path...); id != "" {
			return id
		}
	}
	return ""
}

func isTheClusters(p *pass, path, id string) {
	if want := clusterWorkspaceID(p); want != "" && id != want {
		p.Differs(path, id, "the id of the IBMPowerVSCluster's workspace", want)
	}
}

// lookedUp returns the name of the workspace that the provider looks up for a machine that does not name its workspace by ID. If the name is unknown, it is
// "", and reason says why.
func lookedUp(p *pass) (name, reason string) {
	if p.Env.InfraCluster == nil {
		return "", "Cluster API finds a workspace by name only if the IBMPowerVSCluster has the same name for it, but the IBMPowerVSCluster does not " +
			"exist: give the workspace's id"
	}
	if name, _ := p.Env.InfraClusterString("spec", "serviceInstance", "name"); name != "" {
		return name, ""
	}
	for _, path := range [][]string{{"spec", "serviceInstanceID"}, {"spec", "serviceInstance", "id"}} {
		if id, _ := p.Env.InfraClusterString(path...); id != "" {
			return "", fmt.Sprintf("the IBMPowerVSCluster names its workspace by id, so Cluster API finds no workspace by name: give the workspace's id, "+
				"which is %q in the IBMPowerVSCluster", id)
		}
	}
	return p.Env.ClusterName + "-serviceInstance", ""
}

func isFound(p *pass, name string) {
	switch want, reason := lookedUp(p); {
	case reason != "":
		p.Unsupported("serviceInstance.name", name, reason)
	case name != want:
		p.Differs("serviceInstance.name", name, "the name of the IBMPowerVSCluster's workspace", want)
	}
}

func clustersOwn(p *pass) machinev1.PowerVSResource {
	name, reason := lookedUp(p)
	if reason != "" {
		p.Required("serviceInstance.id", reason)
		return machinev1.PowerVSResource{}
	}
	return machinev1.PowerVSResource{Type: machinev1.PowerVSResourceTypeName, Name: &name}
}

// zoneFrom reports an error for a Machine with a failure domain. The Machine API has no field for the failure domain, and the controllers of neither API read
// it.
func zoneFrom(p *pass, _ *infraSpec, _ *providerSpec) {
	path := "spec.failureDomain"
	if p.Core.Template {
		path = "spec.template.spec.failureDomain"
	}
	if zone := p.Core.FailureDomain; zone != "" {
		p.Under("").Unsupported(path, zone,
			"a workspace is in one zone, so Machine API has a field for the workspace only, not for the zone: leave this field out")
	}
}

// instanceOf has the parts of a provider ID ibmpowervs://REGION/ZONE/WORKSPACE/INSTANCE. It is empty for an ID of another form.
type instanceOf struct{ workspace, instance string }

func parseProviderID(id string) instanceOf {
	path, ok := strings.CutPrefix(id, "ibmpowervs://")
	parts := strings.Split(path, "/")
	if !ok || len(parts) != 4 {
		return instanceOf{}
	}
	return instanceOf{workspace: parts[2], instance: parts[3]}
}

// providerIDTo converts the provider ID. It reports an error if the instance is in another workspace than the one in which Cluster API would look for it.
// Cluster API would then not find the instance, and would create another one.
func providerIDTo(p *pass, m *providerSpec, c *infraSpec) {
	if p.Core.ProviderID == "" {
		return
	}
	c.ProviderID = &p.Core.ProviderID
	want := clusterWorkspaceID(p)
	if m.ServiceInstance.Type == machinev1.PowerVSResourceTypeID {
		want = text(m.ServiceInstance.ID)
	}
	liesIn(p.Under(""), "spec.providerID", p.Core.ProviderID, want)
}

func providerIDFrom(p *pass, c *infraSpec, _ *providerSpec) {
	id := text(c.ProviderID)
	switch {
	case p.Core.Template && id != "":
		p.Unsupported("providerID", id, "a template has no instance, and so no provider id: remove it")
		return
	case p.Core.ProviderID == "":
		p.Core.ProviderID = id
	case id != "" && id != p.Core.ProviderID:
		p.Differs("providerID", id, "the Machine's spec.providerID", p.Core.ProviderID)
		return
	}
	want := workspaceID(c)
	if want == "" {
		want = clusterWorkspaceID(p)
	}
	liesIn(p, "providerID", p.Core.ProviderID, want)
}

func liesIn(p *pass, path, id, workspace string) {
	if has := parseProviderID(id).workspace; has != "" && workspace != "" && has != workspace {
		p.Unsupported(path, id, fmt.Sprintf("the instance is in the workspace %q, but the other API's controller would look for the instance in %q, which "+
			"is the machine's workspace. Name the instance's workspace in serviceInstance",
			has, workspace))
	}
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
			p.Incomparable("loadBalancers", describe(m.LoadBalancers), "the load balancers of the IBMPowerVSCluster")
		}
		return
	}
	theirs, listed := clusterBalancers(p), listedBalancers(p)
	if nameless(listed) {
		amendNames(p, listed)
		return
	}
	all := conversion.OfControlPlane(p, "loadBalancers", m.LoadBalancers)
	missing := missingFor(p, all, listed)
	equal := describe(m.LoadBalancers) == describe(theirs)
	if equal && !missing.names && len(missing.ids) == 0 {
		return
	}
	if equal || missing.inSpec() {
		missing.amend(p)
		if describe(m.LoadBalancers) != describe(all) {
			p.Unsupported("loadBalancers", describe(m.LoadBalancers),
				"Cluster API registers each control plane Machine with all load balancers of the IBMPowerVSCluster. Give this Machine the same load "+
					"balancers as the other control plane Machines: "+describe(all))
		}
		return
	}
	p.Differs("loadBalancers", describe(m.LoadBalancers), "the load balancers of the IBMPowerVSCluster", describe(theirs))
}

// managedElsewhere reports whether the IBMPowerVSCluster is managed by somebody else than the provider's own controller. The controller then ignores the
// IBMPowerVSCluster and does not write its status.
func managedElsewhere(p *pass) bool {
	_, given := p.Env.InfraClusterString("metadata", "annotations", clusterv1.ManagedByAnnotation)
	return given
}

func balancersFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if !p.Core.ControlPlane {
		return
	}
	if listed := listedBalancers(p); nameless(listed) {
		amendNames(p, listed)
		return
	}
	m.LoadBalancers = clusterBalancers(p)
}

// clusterBalancers returns, in Machine API's form, the load balancers of the IBMPowerVSCluster. Cluster API registers control plane Machines with them
// (CreateVPCLoadBalancerPoolMember in the provider).
func clusterBalancers(p *pass) []machinev1.LoadBalancerReference {
	if region, _ := p.Env.InfraClusterString("spec", "vpc", "region"); region == "" {
		return nil
	}
	var out []machinev1.LoadBalancerReference
	for _, l := range listedBalancers(p) {
		if lb := balancer(l.name); !slices.Contains(out, lb) {
			out = append(out, lb)
		}
	}
	if out == nil {
		return []machinev1.LoadBalancerReference{balancer(p.Env.ClusterName + "-loadbalancer")}
	}
	return out
}

func balancer(name string) machinev1.LoadBalancerReference {
	return machinev1.LoadBalancerReference{Name: name, Type: machinev1.ApplicationLoadBalancerType}
}

// listed is one item of the list spec.loadBalancers in the IBMPowerVSCluster.
type listed struct {
	item map[string]any
	// name is the load balancer's name. It is "" if the item has only an ID, and the status has no name for this ID.
	name string
	// byID reports that the item has an ID but no name of its own.
	byID bool
}

// listedBalancers returns the items of the IBMPowerVSCluster's list of load balancers. If an item has only an ID, its name is the one that the status has for
// this ID. If an item has neither an ID nor a name, its name is the provider's default.
func listedBalancers(p *pass) []listed {
	value, _, _ := unstructured.NestedSlice(p.Env.InfraCluster, "spec", "loadBalancers")
	var out []listed
	for i, lb := range value {
		item, _ := lb.(map[string]any)
		name, _ := item["name"].(string)
		id, _ := item["id"].(string)
		l := listed{item: item, name: name}
		switch {
		case name != "":
		case id != "":
			l.name, l.byID = nameOf(p, id), true
		default:
			l.name = fmt.Sprintf("%s-loadbalancer-%d", p.Env.ClusterName, i)
		}
		out = append(out, l)
	}
	return out
}

// nameOf returns the name that the IBMPowerVSCluster's status has for the ID of a load balancer. It returns "" if the status does not have the ID.
func nameOf(p *pass, id string) string {
	known := balancerIDs(p)
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if content, _ := known[name].(map[string]any); content["id"] == id {
			return name
		}
	}
	return ""
}

func balancerIDs(p *pass) map[string]any {
	known, _, _ := unstructured.NestedMap(p.Env.InfraCluster, "status", "loadBalancers")
	return known
}

// nameless reports whether an item has no name, neither in the list nor in the status.
func nameless(all []listed) bool {
	return slices.ContainsFunc(all, func(l listed) bool { return l.name == "" })
}

// byNameOnly is the reason why items need a name. The provider reads a load balancer's ID from the status, where it looks for the name in the list. It
// ignores the ID in the list.
const byNameOnly = "Cluster API registers control plane Machines with the load balancers of the IBMPowerVSCluster, but finds a load balancer only by its " +
	"name, not by its id"

// amendNames reports the error about items that have no name, neither in the list nor in the status.
func amendNames(p *pass, all []listed) {
	p.Amend("spec.loadBalancers", nil, byNameOnly+": give a name to each item of this list that has only an id. In the command, each NAME stands for the "+
		"name that ibmcloud is load-balancers prints",
		patchOf("spec", map[string]any{"loadBalancers": named(all)}), "")
}

// named returns the items of the list, each with its name. It leaves out an item that has only an ID if another item has the same name, because the load
// balancer would otherwise be registered twice.
func named(all []listed) []any {
	var out []any
	for _, l := range all {
		switch {
		case l.byID && slices.ContainsFunc(all, func(o listed) bool { return !o.byID && o.name == l.name }):
			continue
		case l.byID:
			l.item["name"] = cmp.Or(l.name, "NAME")
		}
		out = append(out, l.item)
	}
	return out
}

// missing has what an IBMPowerVSCluster lacks, so that Cluster API can register the control plane with its load balancers.
type missing struct {
	// names reports that the list has items that have only an ID.
	names bool
	// items has the names of the load balancers that the list lacks. list is the whole list including them.
	items []string
	list  []any
	// region reports that the VPC's region is missing.
	region bool
	// ids has the names of the load balancers for which the status has no ID. It is filled only if a person, and not the provider's controller,
	// writes the status (managedElsewhere).
	ids []string
}

// missingFor returns what an IBMPowerVSCluster lacks for the load balancers lbs. all are the items of its list. The result is empty if additions are not
// enough to make the IBMPowerVSCluster have exactly these load balancers.
func missingFor(p *pass, lbs []machinev1.LoadBalancerReference, all []listed) missing {
	if p.Env.InfraCluster == nil || len(lbs) == 0 {
		return missing{}
	}
	out := missing{list: named(all)}
	for _, l := range all {
		if !slices.Contains(lbs, balancer(l.name)) {
			return missing{} // no control plane Machine has this load balancer of the list
		}
		out.names = out.names || l.byID
	}
	known := balancerIDs(p)
	for _, lb := range lbs {
		if lb.Type != machinev1.ApplicationLoadBalancerType {
			return missing{}
		}
		if !slices.ContainsFunc(all, func(l listed) bool { return l.name == lb.Name }) {
			out.items = append(out.items, lb.Name)
			out.list = append(out.list, map[string]any{"name": lb.Name, "public": !strings.HasSuffix(lb.Name, "-int")})
		}
		if _, has := known[lb.Name]; !has && managedElsewhere(p) {
			out.ids = append(out.ids, lb.Name)
		}
	}
	region, _ := p.Env.InfraClusterString("spec", "vpc", "region")
	out.region = region == ""
	return out
}

func (m missing) inSpec() bool { return m.names || len(m.items) > 0 || m.region }

// amend reports the error about what is missing. The message has the commands for exactly that. A merge patch replaces a list, so the list in the patch also
// has the existing items.
func (m missing) amend(p *pass) {
	var lacks, filled []string
	path, spec, ids := "", map[string]any{}, map[string]any{}
	add := func(at, what string) { path, lacks = cmp.Or(path, at), append(lacks, what) }
	if m.names || len(m.items) > 0 {
		spec["loadBalancers"] = m.list
	}
	if m.names {
		add("spec.loadBalancers", "the names of load balancers that it lists only by their ids (Cluster API does not find a load balancer by its id)")
	}
	if len(m.items) > 0 {
		add("spec.loadBalancers", "the load balancers "+strings.Join(m.items, ", "))
	}
	if m.region {
		add("spec.vpc.region", "the region of its VPC")
		spec["vpc"], filled = map[string]any{"region": "REGION"}, append(filled, "REGION")
	}
	if len(m.ids) > 0 {
		add("status.loadBalancers", "the ids in its status of the load balancers "+strings.Join(m.ids, ", "))
		filled = append(filled, "each ID")
	}
	for _, name := range m.ids {
		ids[name] = map[string]any{"id": "ID"}
	}
	why := "Cluster API would not register control plane Machines with all load balancers, because the IBMPowerVSCluster lacks " + strings.Join(lacks, ", and ")
	if len(filled) > 0 {
		why += ". In the commands, replace " + strings.Join(filled, " and ") + " by what ibmcloud is load-balancers prints"
	}
	p.Amend(path, nil, why, patchOf("spec", spec), patchOf("status", nested("loadBalancers", ids)))
}

// nested returns a map with one member. It returns nil if the member's content is empty.
func nested(name string, content map[string]any) map[string]any {
	if len(content) == 0 {
		return nil
	}
	return map[string]any{name: content}
}

// patchOf returns a merge patch for one member of an object. It returns "" if the member's content is empty.
func patchOf(name string, content map[string]any) string {
	if len(content) == 0 {
		return ""
	}
	raw, _ := json.Marshal(map[string]any{name: content}) // cannot fail: the values are strings, or come from JSON
	return string(raw)
}

func describe(lbs []machinev1.LoadBalancerReference) string {
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
