// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/poundlock/poundlock/internal/azuresizes"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// ownNamespace is the namespace of Machine API's Machines and their Secrets.
const ownNamespace = "openshift-machine-api"

// usual returns, by path, the values that a cluster's machines have if their providerSpec has none. They come from the Infrastructure.
func usual(i *configv1.Infrastructure) map[string]any {
	if i == nil || i.Status.PlatformStatus == nil {
		return nil
	}
	switch s := i.Status.PlatformStatus; {
	case s.AWS != nil:
		return map[string]any{"placement.region": s.AWS.Region}
	case s.Azure != nil:
		group := strings.ToLower(s.Azure.ResourceGroupName)
		return map[string]any{"resourceGroup": group, "networkResourceGroup": cmp.Or(strings.ToLower(s.Azure.NetworkResourceGroupName), group)}
	case s.GCP != nil:
		p := s.GCP.ProjectID
		return map[string]any{"projectID": p, "region": s.GCP.Region, "networkInterfaces[].projectID": p, "disks[].encryptionKey.kmsKey.projectID": p}
	}
	return nil
}

// ahead moves the items for which the function "is" returns true to the front of a list. Otherwise the items keep their order.
func ahead(spec map[string]any, list string, is func(item map[string]any) bool) {
	items, _ := spec[list].([]any)
	slices.SortStableFunc(items, func(a, b any) int {
		switch one, other := is(values.Object(a)), is(values.Object(b)); {
		case one == other:
			return 0
		case one:
			return -1
		}
		return 1
	})
}

// awsSpelling moves the root device to the front of the list of block devices. The root device is the one without a name, wherever it is in the list.
func awsSpelling(spec map[string]any) {
	ahead(spec, "blockDevices", func(device map[string]any) bool { return device["deviceName"] == nil })
}

// azureSpelling writes names and the location in one spelling, because Azure accepts names in any case, and accepts a location with spaces.
func azureSpelling(spec map[string]any) {
	for _, name := range []string{"location", "resourceGroup", "networkResourceGroup"} {
		if s, ok := spec[name].(string); ok {
			spec[name] = strings.ToLower(strings.ReplaceAll(s, " ", ""))
		}
	}
	if size, ok := spec["vmSize"].(string); ok {
		spec["vmSize"] = azuresizes.Listed(size)
	}
}

// gcpSpelling moves the boot disk to the front of the list, because its position means nothing. It removes the restart policy if that is the one that follows
// from whether the instance is preemptible.
func gcpSpelling(spec map[string]any) {
	ahead(spec, "disks", func(d map[string]any) bool { return d["boot"] == true })
	taken := spec["preemptible"] == true || spec["provisioningModel"] == "Spot"
	if policy := spec["restartPolicy"]; taken && policy == "Never" || !taken && policy == "Always" {
		delete(spec, "restartPolicy")
	}
}

// openStackReferences keeps only what Machine API uses. If a reference has an id, Machine API ignores its name and filter; if a root volume has a source,
// Machine API ignores the image. An item of networks may have several subnets and nothing else that determines its network. Such an item becomes one interface
// for each subnet.
func openStackReferences(spec map[string]any) {
	if spec["serverGroupID"] != nil {
		delete(spec, "serverGroupName")
	}
	if v := values.Object(spec["rootVolume"]); v["sourceUUID"] != nil {
		spec["image"] = v["sourceUUID"]
		delete(v, "sourceUUID")
	}
	groups, _ := spec["securityGroups"].([]any)
	for _, g := range groups {
		identify(values.Object(g), "name")
	}
	for _, path := range []string{"networks[].profile.capabilities", "ports[].profile.capabilities"} {
		Unique{path: path}.Each(spec, func(in map[string]any, name, _ string) {
			if s, ok := in[name].(string); ok && strings.Trim(s, `[]"' `) == "switchdev" {
				in[name] = "[switchdev]"
			}
		})
	}
	networks, _ := spec["networks"].([]any)
	var interfaces []any
	for _, n := range networks {
		interfaces = append(interfaces, perSubnet(values.Object(n), n)...)
	}
	if len(networks) > 0 {
		spec["networks"] = interfaces
	}
}

// perSubnet returns the interfaces that an item of networks means: one for each subnet if only the subnets determine the network, else one.
func perSubnet(n map[string]any, entry any) []any {
	identify(n)
	subnets, _ := n["subnets"].([]any)
	for _, s := range subnets {
		identify(values.Object(s))
	}
	if len(subnets) == 0 {
		return []any{entry}
	}
	if n["uuid"] != nil || len(values.Object(n["filter"])) > 0 {
		n["portTags"] = tagsWith(n, subnets...)
		return []any{entry}
	}
	var out []any
	for _, s := range subnets {
		one, _ := values.Plain(n).(map[string]any)
		one["subnets"] = []any{s}
		one["portTags"] = tagsWith(one, s)
		out = append(out, one)
	}
	return out
}

// tagsWith returns the tags of a port: the network's and those of its subnets. It removes the tags from the subnets.
func tagsWith(network map[string]any, subnets ...any) []any {
	tags, _ := network["portTags"].([]any)
	for _, s := range subnets {
		if own, ok := values.Object(s)["portTags"].([]any); ok {
			tags = append(slices.Clone(tags), own...)
			delete(values.Object(s), "portTags")
		}
	}
	return tags
}

// identify keeps a reference's id, or its filter if it has no id. The list "names" has members that the reference may also have outside of the filter.
func identify(ref map[string]any, names ...string) {
	filter := values.Object(ref["filter"])
	if ref["uuid"] == nil && filter["id"] != nil {
		ref["uuid"] = filter["id"]
	}
	if ref["uuid"] != nil {
		delete(ref, "filter")
		for _, name := range names {
			delete(ref, name)
		}
		return
	}
	if filter["projectId"] == nil && filter["tenantId"] != nil {
		filter["projectId"] = filter["tenantId"]
	}
	delete(filter, "tenantId")
	for _, name := range names {
		if ref[name] == nil && filter[name] != nil {
			ref[name] = filter[name]
		}
		delete(filter, name)
	}
}
