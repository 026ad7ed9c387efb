// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package nutanix

import (
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// place is where a machine runs: a cluster (Prism Element) and subnets.
type place struct {
	Cluster *ResourceIdentifier  `json:"cluster"`
	Subnets []ResourceIdentifier `json:"subnets"`
}

func placeTo(p *pass, m *providerSpec, c *infraSpec) {
	if domain := m.FailureDomain; domain != nil && domain.Name != "" {
		there, known := installed(p, domain.Name)
		switch {
		case known:
			m = &providerSpec{Cluster: ofInfrastructure(there.Cluster), FailureDomain: domain}
			for _, s := range there.Subnets {
				m.Subnets = append(m.Subnets, ofInfrastructure(s))
			}
		case m.Cluster.Type == "" && len(m.Subnets) == 0:
			p.Core.FailureDomain = domain.Name
			p.Unsupported("failureDomain.name", domain.Name, undescribed(p))
			return
		case uninstalled(p, domain.Name):
			p.Unsupported("failureDomain.name", domain.Name, noMachineThere+", or remove failureDomain from the providerSpec")
		}
	}
	c.Cluster = identifierTo(p, "cluster", m.Cluster)
	for i, s := range m.Subnets {
		if id := identifierTo(p, fmt.Sprintf("subnets[%d]", i), s); id != nil {
			c.Subnets = append(c.Subnets, *id)
		}
	}
	checkSubnets(p, "subnets", c.Subnets, len(m.Subnets))
	comparePrismCentrals(p)
	if p.Core.FailureDomain = ""; m.FailureDomain == nil {
		return
	}
	if p.Core.FailureDomain = m.FailureDomain.Name; m.FailureDomain.Name == "" {
		p.Required("failureDomain.name", "failureDomain needs a name: name the failure domain, or leave failureDomain out")
		return
	}
	agree(p, "subnets", place{Cluster: c.Cluster, Subnets: c.Subnets})
	unlisted(p, c)
}

const (
	addDomain      = "add the failure domain to spec.platformSpec.nutanix.failureDomains of Infrastructure cluster"
	noMachineThere = "Machine API creates no virtual machine in a failure domain that the Infrastructure does not list: " + addDomain
)

// undescribed returns the reason, for a message, why the place of a machine that names only a failure domain is unknown.
func undescribed(p *pass) string {
	if _, given, _ := unstructured.NestedMap(p.Env.Infrastructure, "spec", "platformSpec", "nutanix"); !given {
		return "the cluster and subnets of this failure domain are unknown, because the Infrastructure has no spec.platformSpec.nutanix, which lists the " +
			"failure domains: " + addDomain
	}
	return "the cluster and subnets of this failure domain are unknown, because the Infrastructure lists no failure domain of this name: " + addDomain
}

// unlisted reports an error for a machine that has no virtual machine yet if the NutanixCluster does not list the machine's failure domain, because Cluster
// API's controller would set a terminal failure on the machine. It reports none if the cluster has failure domains that are objects of their own, because the
// machine's failure domain may be one of these.
func unlisted(p *pass, c *infraSpec) {
	_, known := listed(p)
	_, objects, _ := unstructured.NestedSlice(p.Env.InfraCluster, "spec", "controlPlaneFailureDomains")
	if known || objects || p.Env.InfraCluster == nil || c.Cluster == nil || len(c.Subnets) == 0 || created(p) || uninstalled(p, p.Core.FailureDomain) {
		return
	}
	p.Apply("spec.failureDomains", p.Core.FailureDomain, "failure-domain-"+p.Core.FailureDomain,
		"The NutanixCluster does not list this failure domain, so Cluster API would create no virtual machine in it, and would mark the machine as failed "+
			"for good. List the failure domain",
		map[string]any{"failureDomains": []any{map[string]any{"name": p.Core.FailureDomain, "cluster": c.Cluster, "subnets": c.Subnets, "controlPlane": true}}})
}

func placeFrom(p *pass, c *infraSpec, m *providerSpec) {
	here := place{Cluster: c.Cluster, Subnets: c.Subnets}
	if domain := p.Core.FailureDomain; domain != "" {
		m.FailureDomain = &machinev1.NutanixFailureDomainReference{Name: domain}
		here = agree(p, "subnet", here)
		asInstalled(p, here)
	}
	comparePrismCentrals(p)
	if here.Cluster == nil {
		p.Required("cluster", "Machine API refuses a machine without a cluster: name the Prism Element cluster")
	} else {
		m.Cluster = identifierFrom(p, "cluster", *here.Cluster)
	}
	for i, s := range here.Subnets {
		m.Subnets = append(m.Subnets, identifierFrom(p, fmt.Sprintf("subnet[%d]", i), s))
	}
	checkSubnets(p, "subnet", here.Subnets, len(here.Subnets))
}

const mostSubnets = 32

func checkSubnets(p *pass, path string, subnets []ResourceIdentifier, n int) {
	switch {
	case n == 0:
		p.Required(path, "a machine needs at least one subnet: name one")
	case n > mostSubnets:
		p.Invalid(path, nil, fmt.Sprintf("the machine has %d subnets, but may have at most %d: remove some", n, mostSubnets))
	}
	for i, s := range subnets[:min(len(subnets), mostSubnets)] {
		if slices.ContainsFunc(subnets[:i], func(other ResourceIdentifier) bool { return same(s, other) }) {
			p.Invalid(path, s.String(), "the subnet is listed twice: remove one of the two")
		}
	}
}

// agree compares a machine's place with the Machine's failure domain, if the NutanixCluster lists that failure domain. It reports an error if they differ,
// because Cluster API's controller replaces the machine's own values by the failure domain's. It returns the place, in which values that the machine does not
// have are the failure domain's. subnets is the path of the machine's subnets.
func agree(p *pass, subnets string, here place) place {
	there, known := listed(p)
	if !known {
		return here
	}
	if here.Cluster != nil && there.Cluster != nil && !same(*here.Cluster, *there.Cluster) {
		p.Differs("cluster", here.Cluster.String(), "the cluster of the NutanixCluster's failure domain "+p.Core.FailureDomain, there.Cluster.String())
	}
	if len(here.Subnets) > 0 && !slices.EqualFunc(here.Subnets, there.Subnets, same) {
		p.Differs(subnets, fmt.Sprint(here.Subnets), "the subnets of the NutanixCluster's failure domain "+p.Core.FailureDomain, fmt.Sprint(there.Subnets))
	}
	if here.Cluster == nil {
		here.Cluster = there.Cluster
	}
	if len(here.Subnets) == 0 {
		here.Subnets = there.Subnets
	}
	return here
}

// asInstalled is for a conversion to Machine API. It reports an error if a machine's place differs from the machine's failure domain in the Infrastructure,
// because Machine API's controllers replace the machine's own values by that failure domain's. It also reports an error if the Infrastructure does not have
// the failure domain, because these controllers would create nothing in it (uninstalled).
func asInstalled(p *pass, here place) {
	name := p.Core.FailureDomain
	there, known := installed(p, name)
	if !known {
		if uninstalled(p, name) {
			domainPath(p).Unsupported("", name, noMachineThere)
		}
		return
	}
	cluster, subnets := identified(there.Cluster), []ResourceIdentifier{}
	for _, s := range there.Subnets {
		subnets = append(subnets, identified(s))
	}
	if here.Cluster != nil && !same(*here.Cluster, cluster) {
		p.Differs("cluster", here.Cluster.String(), "the cluster of the Infrastructure's failure domain "+name, cluster.String())
	}
	if len(here.Subnets) > 0 && !slices.EqualFunc(here.Subnets, subnets, same) {
		p.Differs("subnet", fmt.Sprint(here.Subnets), "the subnets of the Infrastructure's failure domain "+name, fmt.Sprint(subnets))
	}
}

// domainPath returns the pass at the field with the failure domain's name, in Cluster API's Machine or MachineSet.
func domainPath(p *pass) *pass {
	if p.Core.Template {
		return p.Under("spec.template.spec.failureDomain")
	}
	return p.Under("spec.failureDomain")
}

// domains returns the failure domains in one list of an object. They are not copied, so callers must not change them.
func domains(of map[string]any, path ...string) []map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(of, path...)
	list, _ := value.([]any)
	var out []map[string]any
	for _, d := range list {
		if content, ok := d.(map[string]any); ok {
			out = append(out, content)
		}
	}
	return out
}

// listed returns the place of the Machine's failure domain if the NutanixCluster's spec.failureDomains lists it. It does not find failure domains that are
// objects of their own.
func listed(p *pass) (out place, known bool) { return named(p.Env.InfraCluster, p.Core.FailureDomain) }

func named(infraCluster map[string]any, name string) (out place, known bool) {
	for _, content := range domains(infraCluster, "spec", "failureDomains") {
		if content["name"] == name {
			err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &out)
			return out, err == nil
		}
	}
	return out, false
}

// installed returns a failure domain of the Infrastructure by name. It matters because Machine API's controllers replace a machine's own cluster and subnets
// by those of the failure domain.
func installed(p *pass, name string) (out configv1.NutanixFailureDomain, known bool) {
	for _, content := range domains(p.Env.Infrastructure, "spec", "platformSpec", "nutanix", "failureDomains") {
		if content["name"] == name && name != "" {
			err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &out)
			return out, err == nil
		}
	}
	return out, false
}

// uninstalled reports whether Machine API's controllers would fail to create a virtual machine because the Infrastructure does not have the machine's failure
// domain. They look for the failure domain in the Infrastructure even if the machine has a cluster and subnets of its own. The result is false for a machine
// that already has its virtual machine.
func uninstalled(p *pass, name string) bool {
	_, given, _ := unstructured.NestedMap(p.Env.Infrastructure, "spec", "platformSpec", "nutanix")
	_, known := installed(p, name)
	return given && !known && !created(p)
}

// created reports whether a machine already has its virtual machine. A template has none.
func created(p *pass) bool { return !p.Core.Template && p.Core.ProviderID != "" }

// identified converts an identifier in the Infrastructure into Cluster API's form.
func identified(id configv1.NutanixResourceIdentifier) ResourceIdentifier {
	value := ofInfrastructure(id)
	return ResourceIdentifier{Type: string(value.Type), UUID: value.UUID, Name: value.Name}
}

// ofInfrastructure converts an identifier in the Infrastructure into a providerSpec's form.
func ofInfrastructure(id configv1.NutanixResourceIdentifier) machinev1.NutanixResourceIdentifier {
	return machinev1.NutanixResourceIdentifier{Type: machinev1.NutanixIdentifierType(strings.ToLower(string(id.Type))), UUID: id.UUID, Name: id.Name}
}

// comparePrismCentrals reports an error if the controllers of the two APIs use different Prism Centrals, because they would then not find the same machines.
// The Machine API's controllers use the Prism Central in the Infrastructure. Cluster API's controllers use the one in the NutanixCluster.
func comparePrismCentrals(p *pass) {
	here, _, _ := unstructured.NestedString(p.Env.Infrastructure, "spec", "platformSpec", "nutanix", "prismCentral", "address")
	there, _ := p.Env.InfraClusterString("spec", "prismCentral", "address")
	if here != "" && there != "" && here != there {
		p.Unsupported("cluster", here, fmt.Sprintf(
			"the Infrastructure names the Prism Central %q, but the NutanixCluster names %q: set the same address in both", here, there))
	}
}

func providerIDTo(p *pass, _ *providerSpec, c *infraSpec) { c.ProviderID = p.Core.ProviderID }

func providerIDFrom(p *pass, c *infraSpec, _ *providerSpec) {
	switch id := c.ProviderID; {
	case p.Core.Template && id != "":
		p.Unsupported("providerID", id, "a template has no instance, and so no provider id: remove it")
	case p.Core.ProviderID == "":
		p.Core.ProviderID = id
	case id != "" && id != p.Core.ProviderID:
		p.Differs("providerID", id, "the Machine's spec.providerID", p.Core.ProviderID)
	}
}
