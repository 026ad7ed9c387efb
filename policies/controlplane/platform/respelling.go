// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"math"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// powerVSProcessors writes the number of processors in one spelling, because it may be a number or a text. It removes the number if it is the one that Machine
// API assumes for an absent one.
func powerVSProcessors(spec map[string]any) {
	given, ok := spec["processors"]
	if !ok {
		return
	}
	if n, err := strconv.ParseFloat(values.Text(given), 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		spec["processors"] = values.Text(n)
	}
	if spec["processors"] == usualProcessors("processors", spec) {
		delete(spec, "processors")
	}
}

// usualProcessors returns the number of processors that Machine API assumes if none is given. Processors without a type are shared ones.
func usualProcessors(path string, spec map[string]any) any {
	switch {
	case path != "processors":
		return nil
	case spec["processorType"] == string(machinev1.PowerVSProcessorTypeDedicated):
		return "1"
	}
	return "0.5"
}

// bareTemplate removes the folder from a template's path if vSphere would look in that folder for a template without a path.
func bareTemplate(spec map[string]any) {
	datacenter, _ := values.At(spec, values.Path("workspace.datacenter")).(string)
	template, _ := spec["template"].(string)
	if bare, ok := strings.CutPrefix(template, "/"+datacenter+"/vm/"); ok && !strings.Contains(bare, "/") {
		spec["template"] = bare
	}
}

// templates returns a map from the paths of the templates of vSphere's failure domains to their names. Some installers write the path to the Machines, while
// OpenShift's operator writes the name.
func templates(i *configv1.Infrastructure) map[string]string {
	if i == nil || i.Spec.PlatformSpec.VSphere == nil {
		return nil
	}
	out := map[string]string{}
	for _, d := range i.Spec.PlatformSpec.VSphere.FailureDomains {
		if t := d.Topology.Template; t != "" {
			out[t] = path.Base(t)
		}
	}
	return out
}

// openStackSpelling writes networks and security groups in one form.
func openStackSpelling(spec map[string]any) {
	clusterNetwork(spec)
	openStackGroups(spec)
}

// clusterNetwork removes the network's id from an item of networks that names the cluster's own subnet. It recognizes that subnet by the tag that only
// OpenShift's installer gives. The subnet is in only one network, so the id adds nothing. The id is there if the providerSpec mirrors a Cluster API object; the
// installer does not write it.
func clusterNetwork(spec map[string]any) {
	networks, _ := spec["networks"].([]any)
	for _, n := range networks {
		o := values.Object(n)
		subnets, _ := o["subnets"].([]any)
		if len(subnets) != 1 {
			continue
		}
		tags, _ := values.At(subnets[0], values.Path("filter.tags")).(string)
		if slices.ContainsFunc(strings.Split(tags, ","), func(tag string) bool { return strings.HasPrefix(tag, "openshiftClusterID=") }) {
			delete(o, "uuid")
		}
	}
}

// openStackGroups writes the security groups of each interface in one form. An interface from an item of networks has the machine's groups. An interface from
// an item of ports has its own groups, or the machine's if it has none. An interface without port security has no groups. If all interfaces have equal groups,
// these become the machine's.
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
		own, _ := values.Object(p)["securityGroups"].([]any)
		all = append(all, groupsOf(secured(p), own, machines))
	}
	alike := !slices.ContainsFunc(all, func(g []any) bool { return !reflect.DeepEqual(g, all[0]) })
	for i, p := range ports {
		if o := values.Object(p); alike {
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

// groupsOf returns the security groups of one interface, in the form in which a machine's security groups are written.
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
	return values.Sorted(out)
}

func secured(nic any) bool { return values.Object(nic)["portSecurity"] != false }
