// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package gcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/conversion"
)

// cluster returns the pass at the GCPCluster's spec. It is for errors about values that are missing in that spec.
func cluster(p *pass) *pass { return p.Under("GCPCluster.spec") }

// machine returns the pass at the core Machine's spec or, for a MachineSet, at the spec of its template. The path is the same in both APIs.
func machine(p *pass) *pass {
	if p.Core.Template {
		return p.Under("spec.template.spec")
	}
	return p.Under("spec")
}

// project returns the project in which Cluster API creates instances; "" if it is unknown.
func project(p *pass) string {
	if name, _ := p.Env.InfraClusterString("spec", "project"); name != "" {
		return name
	}
	return p.Env.PlatformStatus("projectID")
}

func region(p *pass) string {
	if name, _ := p.Env.InfraClusterString("spec", "region"); name != "" {
		return name
	}
	if p.Env.Region != "" {
		return p.Env.Region
	}
	return p.Env.PlatformStatus("region")
}

// known returns true if a value of the cluster, which both APIs need, is not empty. Otherwise it returns false and reports an error about the GCPCluster's
// field.
func known(p *pass, field, value string) bool {
	if value == "" {
		cluster(p).Required(field, "the cluster's "+field+" is unknown, because neither the GCPCluster nor the Infrastructure has it: set it in the GCPCluster")
	}
	return value != ""
}

func projectTo(p *pass, m *providerSpec, _ *infraSpec) {
	want := project(p)
	if known(p, "project", want) && m.ProjectID != "" && m.ProjectID != want {
		p.Differs("projectID", m.ProjectID, "the GCPCluster's project", want)
	}
}

func projectFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if m.ProjectID = project(p); m.ProjectID == "" {
		known(p, "project", "")
	}
}

func regionTo(p *pass, m *providerSpec, _ *infraSpec) {
	want := region(p)
	if known(p, "region", want) && m.Region != "" && m.Region != want {
		p.Differs("region", m.Region, "the GCPCluster's region", want)
	}
}

func regionFrom(p *pass, _ *infraSpec, m *providerSpec) {
	if m.Region = region(p); m.Region == "" {
		known(p, "region", "")
	}
}

func zoneTo(p *pass, m *providerSpec, _ *infraSpec) {
	if m.Zone == "" {
		p.Required("zone", "without a zone, Cluster API would choose a zone itself: name the zone")
	}
	checkZone(p, p, "zone", m.Zone)
	p.Core.FailureDomain = m.Zone
}

func zoneFrom(p *pass, _ *infraSpec, m *providerSpec) {
	m.Zone = p.Core.FailureDomain
	if m.Zone == "" {
		machine(p).Required("failureDomain",
			"Machine API needs the zone of each machine, but without a zone Cluster API would choose one itself: name the zone")
	}
	checkZone(p, machine(p), "failureDomain", m.Zone)
}

// checkZone reports an error for a zone outside the cluster's region, because the controllers of Machine API would refuse it. It does not check Cluster API's
// further rule that the zone must be one of the cluster's failure domains, if the cluster lists any: the GCPCluster's failure domains are for the control
// plane, and workers may be in any zone.
func checkZone(p, at *pass, path, zone string) {
	if in := region(p); zone != "" && in != "" && !strings.HasPrefix(zone, in+"-") {
		at.Invalid(path, zone, fmt.Sprintf("must be a zone of the cluster's region, which is %q", in))
	}
}

const instanceForm = "gce://PROJECT/ZONE/NAME"

// instance is a parsed provider ID.
type instance struct{ project, zone, name string }

func parseInstance(providerID string) (instance, bool) {
	path, ok := strings.CutPrefix(providerID, "gce://")
	parts := strings.Split(path, "/")
	if !ok || len(parts) != 3 || slices.Contains(parts, "") {
		return instance{}, false
	}
	return instance{parts[0], parts[1], parts[2]}, true
}

func providerIDTo(p *pass, m *providerSpec, c *infraSpec) {
	if p.Core.ProviderID == "" {
		return
	}
	c.ProviderID = &p.Core.ProviderID
	checkInstance(p, "zone", m.Zone, func(string) string { return "Leave Machine API authoritative for the Machine" })
}

func providerIDFrom(p *pass, c *infraSpec, _ *providerSpec) {
	id := text(c.ProviderID)
	switch {
	case p.Core.Template && id != "":
		p.Unsupported("providerID", id, "a template has no instance, and so no provider id: remove it")
	case p.Core.ProviderID == "":
		p.Core.ProviderID = id
	case id != "" && id != p.Core.ProviderID:
		p.Differs("providerID", id, "the Machine's spec.providerID", p.Core.ProviderID)
	}
	if p.Core.ProviderID != "" && !p.Core.Template {
		checkInstance(p, "spec.failureDomain", p.Core.FailureDomain, func(project string) string {
			return fmt.Sprintf("Set spec.project of the GCPCluster to %q", project)
		})
	}
}

// checkInstance reports an error if a provider ID does not name an instance in the GCPCluster's project and in the machine's zone. The controllers of both
// APIs look for an instance by project, zone and name, and never by its provider ID. If they do not find the instance, they create another one. field is the
// path of the zone, and elsewhere returns the remedy for an instance in the given other project, for the message.
func checkInstance(p *pass, field, zone string, elsewhere func(project string) string) {
	id, ok := parseInstance(p.Core.ProviderID)
	in := project(p)
	switch {
	case !ok:
		machine(p).Invalid("providerID", p.Core.ProviderID, "must be of the form "+instanceForm)
	case in != "" && id.project != in:
		machine(p).Unsupported("providerID", p.Core.ProviderID,
			fmt.Sprintf("the instance is not in the GCPCluster's project, %q, so Cluster API would not find the instance and would create another one. %s",
				in, elsewhere(id.project)))
	case zone != "" && id.zone != zone:
		machine(p).Invalid("providerID", p.Core.ProviderID,
			fmt.Sprintf("the instance is in zone %q, but according to its spec the machine is in zone %q. The controllers would not find the instance, and "+
				"would create another one. Set %s to %q",
				id.zone, zone, field, id.zone))
	}
}

// masterGroup is a part of the names of instance groups: CLUSTER-master-ZONE. Machine API registers control plane instances with these groups.
const masterGroup = "master"

func groupTo(p *pass, _ *providerSpec, _ *infraSpec)   { checkGroup(p) }
func groupFrom(p *pass, _ *infraSpec, _ *providerSpec) { checkGroup(p) }

// checkGroup reports an error for a control plane Machine if the GCPCluster does not use the instance groups named with masterGroup. An instance outside
// these groups gets no requests for the API server.
func checkGroup(p *pass) {
	if !p.Core.ControlPlane {
		return
	}
	if tag, _ := p.Env.InfraClusterString("spec", "loadBalancer", "apiServerInstanceGroupTagOverride"); tag != masterGroup && p.Env.InfraCluster != nil {
		p.Replace("spec.loadBalancer.apiServerInstanceGroupTagOverride",
			tag, fmt.Sprintf("The value must be %s, because the load balancers of the control plane send requests to the instance groups %s-%s-ZONE",
				masterGroup, p.Env.ClusterName, masterGroup),
			fmt.Sprintf(`{"spec":{"loadBalancer":{"apiServerInstanceGroupTagOverride":%q}}}`, masterGroup))
	}
}

func nothing(*pass, *providerSpec, *infraSpec)     {}
func nothingBack(*pass, *infraSpec, *providerSpec) {}

// at is a short name for conversion.At, for rows that name more than one path.
func at(paths ...string) []string { return conversion.At(paths...) }
