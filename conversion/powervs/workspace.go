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

// workspaceTo converts the workspace, and reports an error if it is not the cluster's. The provider reads the workspace's ID from the machine. Without an ID it
// reads the workspace's name from the IBMPowerVSCluster, and never from the machine (NewPowerVSMachineScope in the provider).
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
			p.Invalid(path, old, "give serviceInstanceID or serviceInstance, not both")
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

// workspaceID returns the ID of the workspace that a machine names; "" if it names none by an ID.
func workspaceID(c *infraSpec) string {
	if c.ServiceInstanceID != "" || c.ServiceInstance == nil {
		return c.ServiceInstanceID
	}
	return text(c.ServiceInstance.ID)
}

// clusterWorkspaceID returns the ID of the cluster's workspace; "" if the IBMPowerVSCluster does not have it. It reads the fields in the order in which the
// provider does to make a provider ID.
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

// lookedUp returns the name of the workspace that the provider looks up for a machine that names none by an ID. If this is unknown, the name is "" and the
// reason is set.
func lookedUp(p *pass) (name, reason string) {
	if p.Env.InfraCluster == nil {
		return "", "Cluster API looks up the cluster's workspace by its name in the IBMPowerVSCluster, and there is no IBMPowerVSCluster: give the id"
	}
	if name, _ := p.Env.InfraClusterString("spec", "serviceInstance", "name"); name != "" {
		return name, ""
	}
	for _, path := range [][]string{{"spec", "serviceInstanceID"}, {"spec", "serviceInstance", "id"}} {
		if id, _ := p.Env.InfraClusterString(path...); id != "" {
			return "", fmt.Sprintf("the IBMPowerVSCluster names its workspace by id, and Cluster API looks up no other workspace by name: give the id, "+
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

// zoneFrom reports an error for a Machine with a failure domain. The Machine API has no field for it, and neither API's controllers read it.
func zoneFrom(p *pass, _ *infraSpec, _ *providerSpec) {
	path := "spec.failureDomain"
	if p.Core.Template {
		path = "spec.template.spec.failureDomain"
	}
	if zone := p.Core.FailureDomain; zone != "" {
		p.Under("").Unsupported(path, zone, "a workspace is in one zone, and the Machine API has only the workspace: leave it out")
	}
}

// instanceOf is a parsed provider ID, ibmpowervs://REGION/ZONE/WORKSPACE/INSTANCE. It is empty for an ID of another form.
type instanceOf struct{ workspace, instance string }

func parseProviderID(id string) instanceOf {
	path, ok := strings.CutPrefix(id, "ibmpowervs://")
	parts := strings.Split(path, "/")
	if !ok || len(parts) != 4 {
		return instanceOf{}
	}
	return instanceOf{workspace: parts[2], instance: parts[3]}
}

// providerIDTo converts the provider ID, and reports an error if the instance is not in the workspace in which Cluster API would look for it. Cluster API would
// not find the instance, and would create another one.
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
		p.Unsupported("providerID", id, "a template has no instance: remove it")
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
		p.Unsupported(path, id, fmt.Sprintf("the instance is in the workspace %q, but the other API's controller would look for it in %q, the machine's "+
			"workspace. Name the instance's workspace",
			has, workspace))
	}
}

func balancersTo(p *pass, m *providerSpec, _ *infraSpec) {
	if !p.Core.ControlPlane {
		for i, lb := range m.LoadBalancers {
			p.Unsupported(fmt.Sprintf("loadBalancers[%d]", i), lb.Name, "Cluster API registers only control plane Machines with load balancers: remove it, "+
				"or keep the machine with Machine API")
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
				"Cluster API registers each control plane Machine with all load balancers of the IBMPowerVSCluster. "+
					"Give this Machine the same as the others: "+describe(all))
		}
		return
	}
	p.Differs("loadBalancers", describe(m.LoadBalancers), "the load balancers of the IBMPowerVSCluster", describe(theirs))
}

// managedElsewhere reports whether somebody else than the provider's own controller manages the IBMPowerVSCluster, so that the controller ignores it and does
// not write its status.
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

// clusterBalancers returns, in Machine API's form, the load balancers with which Cluster API registers control plane Machines (CreateVPCLoadBalancerPoolMember
// in the provider).
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

// listed is an item of the IBMPowerVSCluster's list of load balancers (spec.loadBalancers).
type listed struct {
	item map[string]any
	// name is the load balancer's name. It is "" for an item that has only an ID, if the status has no name for this ID.
	name string
	// byID reports that the item has an ID and no name.
	byID bool
}

// listedBalancers returns the items of the IBMPowerVSCluster's list of load balancers. An item that has only an ID gets the name that the status has for this
// ID. An item with neither gets the provider's default name.
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

// nameOf returns the name that the IBMPowerVSCluster's status has for a load balancer's ID; "" if the status does not have the ID.
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

// nameless reports whether there is an item whose name neither the list nor the status has.
func nameless(all []listed) bool {
	return slices.ContainsFunc(all, func(l listed) bool { return l.name == "" })
}

// byNameOnly is the reason why items need a name: the provider reads a load balancer's ID from the status, by the name in the list, whatever ID the list has.
const byNameOnly = "Cluster API registers control plane Machines with load balancers, and finds a load balancer only by its name, not by its id"

// amendNames reports the error about items whose name neither the list nor the status has.
func amendNames(p *pass, all []listed) {
	p.Amend("spec.loadBalancers", nil, byNameOnly+": give each item that has only an id its name. Each NAME is what ibmcloud is load-balancers prints",
		patchOf("spec", map[string]any{"loadBalancers": named(all)}), "")
}

// named returns the items of the list, each with its name. An item that has only an ID is left out if another item has its name: otherwise the load balancer
// would be registered twice.
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

// missing is what an IBMPowerVSCluster lacks for the load balancers of a control plane.
type missing struct {
	// names reports that the list has items with only an ID.
	names bool
	// items has the names of the load balancers that the list lacks, and list is the whole list with them.
	items []string
	list  []any
	// region reports that the region of the VPC is missing.
	region bool
	// ids has the names of the load balancers for which the status has no ID, if only a person writes the status.
	ids []string
}

// missingFor returns what an IBMPowerVSCluster lacks for the load balancers lbs; all are the items of its list. The result is empty if additions alone could
// not make the IBMPowerVSCluster have exactly these.
func missingFor(p *pass, lbs []machinev1.LoadBalancerReference, all []listed) missing {
	if p.Env.InfraCluster == nil || len(lbs) == 0 {
		return missing{}
	}
	out := missing{list: named(all)}
	for _, l := range all {
		if !slices.Contains(lbs, balancer(l.name)) {
			return missing{} // the list has a load balancer that no control plane Machine has
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

// amend reports the error about what is missing, with the commands for exactly this. A merge patch replaces a list, so the list in it has the existing items
// too.
func (m missing) amend(p *pass) {
	var lacks, filled []string
	path, spec, ids := "", map[string]any{}, map[string]any{}
	add := func(at, what string) { path, lacks = cmp.Or(path, at), append(lacks, what) }
	if m.names || len(m.items) > 0 {
		spec["loadBalancers"] = m.list
	}
	if m.names {
		add("spec.loadBalancers", "the names of load balancers that it lists only by their ids, by which Cluster API does not find them")
	}
	if len(m.items) > 0 {
		add("spec.loadBalancers", "the load balancers "+strings.Join(m.items, ", "))
	}
	if m.region {
		add("spec.vpc.region", "the region of its VPC")
		spec["vpc"], filled = map[string]any{"region": "REGION"}, append(filled, "REGION")
	}
	if len(m.ids) > 0 {
		add("status.loadBalancers", "in its status the ids of "+strings.Join(m.ids, ", "))
		filled = append(filled, "each ID")
	}
	for _, name := range m.ids {
		ids[name] = map[string]any{"id": "ID"}
	}
	why := "Cluster API would not register control plane Machines with all load balancers, because the IBMPowerVSCluster lacks " + strings.Join(lacks, ", and ")
	if len(filled) > 0 {
		why += ". For " + strings.Join(filled, " and ") + " give what ibmcloud is load-balancers prints"
	}
	p.Amend(path, nil, why, patchOf("spec", spec), patchOf("status", nested("loadBalancers", ids)))
}

// nested returns a map of one member; nil if the member's content is empty.
func nested(name string, content map[string]any) map[string]any {
	if len(content) == 0 {
		return nil
	}
	return map[string]any{name: content}
}

// patchOf returns a merge patch of one member of an object; "" if the member's content is empty.
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
