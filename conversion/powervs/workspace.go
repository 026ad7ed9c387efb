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

// workspaceTo: the provider reads the workspace's id from the machine and, without one, its name from the cluster: never the machine's own name of it
// (NewPowerVSMachineScope in the provider).
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
		ref = ResourceReference{ID: c.ServiceInstance.ID, Name: c.ServiceInstance.Name} // the third has its own row
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

// workspaceID is the workspace that a machine names by id.
func workspaceID(c *infraSpec) string {
	if c.ServiceInstanceID != "" || c.ServiceInstance == nil {
		return c.ServiceInstanceID
	}
	return text(c.ServiceInstance.ID)
}

// clusterWorkspaceID is the ID of the cluster's workspace, as far as the IBMPowerVSCluster has it, in the order in which the provider reads it for a provider
// id.
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

// lookedUp is the name of the workspace that the provider looks up for a machine that names none by its id; empty, with the reason, if that is unknown.
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

// zoneFrom: neither side's controllers read a failure domain, and the Machine API has no field for one.
func zoneFrom(p *pass, _ *infraSpec, _ *providerSpec) {
	path := "spec.failureDomain"
	if p.Core.Template {
		path = "spec.template.spec.failureDomain"
	}
	if zone := p.Core.FailureDomain; zone != "" {
		p.Under("").Unsupported(path, zone, "a workspace is in one zone, and the Machine API has only the workspace: leave it out")
	}
}

// instanceOf parses a provider ID, ibmpowervs://REGION/ZONE/WORKSPACE/INSTANCE; empty if it is none.
type instanceOf struct{ workspace, instance string }

func parseProviderID(id string) instanceOf {
	path, ok := strings.CutPrefix(id, "ibmpowervs://")
	parts := strings.Split(path, "/")
	if !ok || len(parts) != 4 {
		return instanceOf{}
	}
	return instanceOf{workspace: parts[2], instance: parts[3]}
}

// providerIDTo refuses an instance in another workspace than the one in which Cluster API would look: it would not find it, and create another.
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

// managedElsewhere reports whether the provider's own controller ignores the IBMPowerVSCluster and its status.
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

// clusterBalancers are those with which Cluster API registers control plane Machines, in Machine API's form (CreateVPCLoadBalancerPoolMember in the provider).
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

// listed is an item of the IBMPowerVSCluster's list of load balancers.
type listed struct {
	item map[string]any
	// name is "" for an item with an id alone for which the status has no name.
	name string
	// byID: the item has no name itself.
	byID bool
}

// listedBalancers are the items of that list. One with an id alone is what the status has under that id, and one without either has the provider's default.
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

// nameOf is the name of a load balancer in the IBMPowerVSCluster's status; "" where that does not have its id.
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

// nameless reports whether the name of an item is known nowhere.
func nameless(all []listed) bool {
	return slices.ContainsFunc(all, func(l listed) bool { return l.name == "" })
}

// byNameOnly: the provider reads a load balancer's id from the status, by the name in the list, whatever id the list has.
const byNameOnly = "Cluster API registers control plane Machines with load balancers, and finds a load balancer only by its name, not by its id"

// amendNames reports items whose name is known nowhere.
func amendNames(p *pass, all []listed) {
	p.Amend("spec.loadBalancers", nil, byNameOnly+": give each item that has only an id its name. Each NAME is what ibmcloud is load-balancers prints",
		patchOf("spec", map[string]any{"loadBalancers": named(all)}), "")
}

// named are the items of the list, each with its name. One by id that another names is left out, since it would be registered twice.
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
	// names: items of the list have their ids alone.
	names bool
	// items are those that the list does not have, list the whole one with them.
	items []string
	list  []any
	// region is that of the VPC.
	region bool
	// ids are the load balancers without one in the status, if nobody but a person writes that.
	ids []string
}

// missingFor is empty if the two would differ all the same.
func missingFor(p *pass, lbs []machinev1.LoadBalancerReference, all []listed) missing {
	if p.Env.InfraCluster == nil || len(lbs) == 0 {
		return missing{}
	}
	out := missing{list: named(all)}
	for _, l := range all {
		if !slices.Contains(lbs, balancer(l.name)) {
			return missing{} // the Machine does not have it
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

// amend says what is missing, with the commands for that alone. A merge patch replaces a list, so the existing items are in it too.
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

// nested is a map without empty values.
func nested(name string, content map[string]any) map[string]any {
	if len(content) == 0 {
		return nil
	}
	return map[string]any{name: content}
}

// patchOf is a merge patch; empty for nothing.
func patchOf(name string, content map[string]any) string {
	if len(content) == 0 {
		return ""
	}
	raw, _ := json.Marshal(map[string]any{name: content}) // JSON, and texts
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
