// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"reflect"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
)

// ownedMark is the value of the tag or label by which an uninstall finds what belongs to a cluster. Each platform has its own name for that tag or label.
const ownedMark = "owned"

// added returns the tags, labels and categories that Machine API's controllers add to every machine of the cluster. The keys are the members of the
// providerSpec that could contain them, and the values are lists of items, or maps. It makes no difference to a machine whether its providerSpec contains them.
// The conversion to Machine API omits them. The conversion to Cluster API writes them, because Cluster API's controllers do not add them.
func added(i *configv1.Infrastructure) map[string]any {
	if i == nil || i.Status.PlatformStatus == nil {
		return nil
	}
	cluster := i.Status.InfrastructureName
	switch s := i.Status.PlatformStatus; {
	case s.AWS != nil:
		var tags []any
		for _, t := range s.AWS.ResourceTags {
			tags = append(tags, map[string]any{"name": t.Key, "value": t.Value})
		}
		return map[string]any{"tags": tags}
	case s.Azure != nil:
		tags := map[string]any{"kubernetes.io_cluster." + cluster: ownedMark}
		for _, t := range s.Azure.ResourceTags {
			tags[t.Key] = t.Value
		}
		return map[string]any{"tags": tags}
	case s.GCP != nil:
		labels, tags := map[string]any{"kubernetes-io-cluster-" + cluster: ownedMark}, []any{}
		for _, l := range s.GCP.ResourceLabels {
			labels[l.Key] = l.Value
		}
		for _, t := range s.GCP.ResourceTags {
			tags = append(tags, map[string]any{"parentID": t.ParentID, "key": t.Key, "value": t.Value})
		}
		return map[string]any{"labels": labels, "resourceManagerTags": tags}
	case s.Type == configv1.NutanixPlatformType:
		return map[string]any{"categories": []any{map[string]any{"key": "kubernetes-io-cluster-" + cluster, "value": ownedMark}}}
	}
	return nil
}

// without removes from a providerSpec what is added to every machine, and the AWS tags that Machine API ignores.
func (p Row) without(spec map[string]any) {
	for name, all := range p.added {
		switch have := spec[name].(type) {
		case []any:
			items, _ := all.([]any)
			kept := slices.DeleteFunc(slices.Clone(have), func(item any) bool {
				return slices.ContainsFunc(items, func(a any) bool { return reflect.DeepEqual(a, item) }) || p.ignores(item)
			})
			if spec[name] = kept; len(kept) == 0 {
				delete(spec, name)
			}
		case map[string]any:
			entries, _ := all.(map[string]any)
			for k, v := range entries {
				if have[k] == v {
					delete(have, k)
				}
			}
			if len(have) == 0 {
				delete(spec, name)
			}
		}
	}
}

// ignores reports whether Machine API ignores a tag of a providerSpec. On AWS a machine is named after its object and belongs to its cluster, whatever the tags
// say about that.
func (p Row) ignores(tag any) bool {
	t, _ := tag.(map[string]any)
	name, _ := t["name"].(string)
	return p.Name == configv1.AWSPlatformType && (name == "Name" || strings.HasPrefix(name, "kubernetes.io/cluster/"))
}
