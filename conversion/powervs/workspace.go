// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package powervs

import (
	"encoding/json"
	"fmt"
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
		return "", "Cluster API looks the cluster's workspace up by the name that the IBMPowerVSCluster gives, and there is none: give the id"
	}
	if name, _ := p.Env.InfraClusterString("spec", "serviceInstance", "name"); name != "" {
		return name, ""
	}
	for _, path := range [][]string{{"spec", "serviceInstanceID"}, {"spec", "serviceInstance", "id"}} {
		if id, _ := p.Env.InfraClusterString(path...); id != "" {
			return "", fmt.Sprintf("the IBMPowerVSCluster gives its workspace by id, and Cluster API looks no other up by name: give the id, which is %q there", id)
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
		p.Under("").Unsupported(path, zone, "a workspace lies in one zone, and the Machine API has the workspace alone: leave it out")
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
		p.Unsupported(path, id, fmt.Sprintf("the instance lies in the workspace %q, and the other API's controller would look for it in %q, the machine's. "+
			"Name the instance's workspace",
			has, workspace))
	}
}

func balancersTo(p *pass, m *providerSpec, _ *infraSpec) {
	if !p.Core.ControlPlane {
		for i, lb := range m.LoadBalancers {
			p.Unsupported(fmt.Sprintf("loadBalancers[%d]", i), lb.Name, "Cluster API registers control plane Machines only: "+
				"remove it, or keep the machine with Machine API")
		}
		return
	}
	theirs := clusterBalancers(p)
	all := conversion.OfControlPlane(p, "loadBalancers", m.LoadBalancers)
	spec, status := balancerPatches(p, all)
	equal := describe(m.LoadBalancers) == describe(theirs)
	if equal && (status == "" || !managedElsewhere(p)) {
		return
	}
	if equal || spec != "" {
		p.Amend("spec.loadBalancers", nil,
			"Cluster API would not register a control plane Machine with all of its load balancers, as the IBMPowerVSCluster does not name them all, "+
				"or not their ids or its VPC's region. The region and the ids are those that ibmcloud is load-balancers prints", spec, status)
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
	if p.Core.ControlPlane {
		m.LoadBalancers = clusterBalancers(p)
	}
}

// clusterBalancers are those with which Cluster API registers control plane Machines, in Machine API's form (CreateVPCLoadBalancerPoolMember in the provider).
func clusterBalancers(p *pass) []machinev1.LoadBalancerReference {
	if region, _ := p.Env.InfraClusterString("spec", "vpc", "region"); region == "" {
		return nil
	}
	value, _, _ := unstructured.NestedSlice(p.Env.InfraCluster, "spec", "loadBalancers")
	if len(value) == 0 {
		return []machinev1.LoadBalancerReference{balancer(p.Env.ClusterName + "-loadbalancer")}
	}
	var out []machinev1.LoadBalancerReference
	for i, lb := range value {
		out = append(out, balancer(balancerName(p, i, lb)))
	}
	return out
}

// balancerName is a load balancer's name in the IBMPowerVSCluster's list, with the provider's default.
func balancerName(p *pass, i int, lb any) string {
	content, _ := lb.(map[string]any)
	if name, _ := content["name"].(string); name != "" {
		return name
	}
	return fmt.Sprintf("%s-loadbalancer-%d", p.Env.ClusterName, i)
}

func balancer(name string) machinev1.LoadBalancerReference {
	return machinev1.LoadBalancerReference{Name: name, Type: machinev1.ApplicationLoadBalancerType}
}

// balancerPatches are the missing load balancers of a Machine in an IBMPowerVSCluster that its own controller ignores: their names, the region, and in its
// status their ids. A merge patch replaces a list, so the existing items are in it too. Both are empty if nothing is missing, or if the two would differ all
// the same; status is empty if it has the ids.
func balancerPatches(p *pass, lbs []machinev1.LoadBalancerReference) (spec, status string) {
	if p.Env.InfraCluster == nil || len(lbs) == 0 {
		return "", ""
	}
	all, _, _ := unstructured.NestedSlice(p.Env.InfraCluster, "spec", "loadBalancers")
	unlisted := slices.Clone(lbs)
	for i, lb := range all {
		at := slices.Index(unlisted, balancer(balancerName(p, i, lb)))
		if at < 0 {
			return "", "" // the Machine does not have it
		}
		unlisted = slices.Delete(unlisted, at, at+1)
	}
	lacks, ids := map[string]any{}, map[string]any{}
	for _, lb := range unlisted {
		if lb.Type != machinev1.ApplicationLoadBalancerType {
			return "", ""
		}
		all = append(all, map[string]any{"name": lb.Name, "public": !strings.HasSuffix(lb.Name, "-int")})
		lacks["loadBalancers"] = all
	}
	if region, _ := p.Env.InfraClusterString("spec", "vpc", "region"); region == "" {
		lacks["vpc"] = map[string]any{"region": "REGION"}
	}
	known, _, _ := unstructured.NestedMap(p.Env.InfraCluster, "status", "loadBalancers")
	for _, lb := range lbs {
		if _, has := known[lb.Name]; !has {
			ids[lb.Name] = map[string]any{"id": "ID"}
		}
	}
	return patchOf("spec", lacks), patchOf("status", nested("loadBalancers", ids))
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
