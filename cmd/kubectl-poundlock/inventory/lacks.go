// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/policies/authority"
)

// Lack is an object or a fact of the cluster that a conversion needs and that was not shown.
type Lack struct {
	// Name is what to show: "the AzureCluster prod-x7k2p".
	Name string
	// Command prints what is missing. Flags are the flags that replace it. One of the two is empty.
	Command, Flags string
	// Missing has the mirror's reason and sentence for an object that the cluster does not have; zero if it may exist.
	Missing conversion.Missing
	// Unmade is what to do about a missing object that not every release of OpenShift creates; "" for any other.
	Unmade string
	// Rest is what a conversion reads of the object besides what flags give; "" if flags give nothing of the object.
	Rest string
	// decides reports that every object's conversion depends on what is missing, whatever the object's fields are.
	decides bool
	// suppose fills in a possible value of what is missing.
	suppose func(*conversion.Env)
}

// Lacks lists what was not shown of the cluster.
func (f *Fleet) Lacks(c Cluster, env conversion.Env) []Lack {
	if env.Platform.Name == "" {
		return nil
	}
	might := env.Platform.Supposed
	var out []Lack
	if env.InfraCluster == nil {
		lack := lackOf(env.Platform.InfraCluster, c.Name, env.ClusterAPINamespace, func(e *conversion.Env) { e.InfraCluster = object(might.InfraCluster) })
		lack.decides, lack.Unmade = true, env.Unmade(false)
		if lack.Unmade == "" && env.Platform.MakeInfraCluster != nil {
			lack.Unmade = "not every release of OpenShift creates this object. " +
				"Also give the cluster's Infrastructure with its status, and this command prints a manifest"
		}
		if f.listed && !f.withheld && f.notServed[env.Platform.InfraCluster.Kind] == "" { // else it may exist
			lack.Missing = env.Absent(env.Platform.InfraCluster.Kind, f.clusters[env.ClusterAPINamespace], "anything can be mirrored")
		}
		out = append(out, lack)
	}
	if f.infrastructure == nil {
		lack := LackOfInfrastructure()
		if c.flagged {
			lack.Rest = unsaid(c.Platform, might)
		}
		lack.suppose = func(e *conversion.Env) { e.Infrastructure = infrastructure(c, might, e.InfraCluster) }
		out = append(out, lack)
	}
	if env.Platform.Account != nil && env.Account == "" {
		out = append(out, Lack{Name: "ConfigMap cloud-provider-config of openshift-config",
			Command: "kubectl get configmaps cloud-provider-config -n openshift-config -o yaml",
			suppose: func(e *conversion.Env) { e.Account = "supposed" }})
	}
	if env.NodeSync.Labels == nil && env.NodeSync.Annotations == nil && !f.nodeSyncRead {
		out = append(out, Lack{Name: "--additional-sync-machine-labels and -annotations of Cluster API's manager",
			Flags: "with the values of Cluster API's manager (OpenShift: --additional-sync-machine-labels=.* --additional-sync-machine-annotations=.*; " +
				"if the manager has none: --additional-sync-machine-labels=)",
			suppose: everySync})
	}
	if env.TakesTaints == nil {
		out = append(out, Lack{Name: "--feature-gates of Cluster API's manager",
			Flags: "with the values of Cluster API's manager (such as --feature-gates=" + authority.TaintGate + "=true; " +
				"if the manager has none: --feature-gates=" + authority.TaintGate + "=false)",
			suppose: func(e *conversion.Env) { e.TakesTaints = ptr.To(false) }})
	}
	return out
}

// unsaid names the platform's own parts of the Infrastructure, which flags do not give, with the fields that a conversion reads there besides the region.
func unsaid(platform string, might conversion.Supposition) string {
	var out []string
	for _, part := range []struct{ path, has string }{{"status.platformStatus.", might.PlatformStatus}, {"spec.platformSpec.", might.PlatformSpec}} {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(object(part.has))), func(name string) bool { return name == "region" })
		if len(names) > 0 {
			out = append(out, fmt.Sprintf("%s%s (%s)", part.path, strings.ToLower(platform), strings.Join(names, ", ")))
		}
	}
	if out == nil {
		return "status.platformStatus." + strings.ToLower(platform)
	}
	return strings.Join(out, " and ")
}

// Doubts returns the lacks that may prevent the conversion of an object, although the object converts with what was shown.
func Doubts(env conversion.Env, lacks []Lack, check func(conversion.Env) field.ErrorList) []Lack {
	all := check(env)
	return slices.DeleteFunc(slices.Clone(lacks), func(l Lack) bool {
		return !l.decides && len(missing(supposing(env, l, check), all)) == 0
	})
}

func supposing(env conversion.Env, l Lack, check func(conversion.Env) field.ErrorList) field.ErrorList {
	l.suppose(&env)
	return check(env)
}

// missing returns the errors of errs that are not, word by word, among the others.
func missing(errs, others field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(slices.Clone(errs), func(e *field.Error) bool {
		return slices.ContainsFunc(others, func(o *field.Error) bool { return o.Field == e.Field && o.Type == e.Type && o.Detail == e.Detail })
	})
}

// lackOf returns the Lack of an object, whose name may be unknown.
func lackOf(kind conversion.Resource, name, namespace string, suppose func(*conversion.Env)) Lack {
	return Lack{
		Name:    strings.TrimSpace("the " + kind.Kind + " " + name),
		Command: strings.Join(strings.Fields(fmt.Sprintf("kubectl get %s %s -n %s -o yaml", kind.Definition(), name, namespace)), " "),
		suppose: suppose,
	}
}

// LackOfInfrastructure returns the Lack of the Infrastructure.
func LackOfInfrastructure() Lack {
	return Lack{Name: "the Infrastructure", Command: "kubectl get infrastructures.config.openshift.io cluster -o yaml", decides: true}
}

// Decides reports whether the answer for every object depends on what is missing, although the cluster may have it.
func (l Lack) Decides() bool { return l.decides && l.Missing.Reason == "" }

// LackOf returns the Lack of an object of Cluster API's to which the authoritative object refers.
func LackOf(kind conversion.Resource, name, namespace string) Lack {
	return lackOf(kind, name, namespace, nil)
}

func everySync(e *conversion.Env) {
	all, err := conversion.ParsePatterns([]string{".*"})
	if err == nil {
		e.NodeSync = conversion.NodeSync{Labels: all, Annotations: all}
	}
}

// Sift converts with what was shown. certain are the errors that nothing missing could change, and open are the other errors. needs is the smallest set of
// lacks that could remove all open errors; nil if there are none.
func Sift(env conversion.Env, lacks []Lack, check func(conversion.Env) field.ErrorList) (certain, open field.ErrorList, needs []Lack) {
	all := check(env)
	if len(all) == 0 || len(lacks) == 0 {
		return all, nil, nil
	}
	certain = remaining(all, env, lacks, check)
	if len(certain) == len(all) {
		return all, nil, nil
	}
	// Each bit of a number is a lack, so the loop tries every set of lacks. There are at most five lacks.
	fewest := lacks
	for bits := range 1 << len(lacks) {
		some := chosen(lacks, bits)
		if len(some) < len(fewest) && len(remaining(all, env, some, check)) == len(certain) {
			fewest = some
		}
	}
	open = slices.DeleteFunc(slices.Clone(all), func(e *field.Error) bool { return slices.Contains(certain, e) })
	return certain, open, fewest
}

func chosen(lacks []Lack, bits int) []Lack {
	var out []Lack
	for i, l := range lacks {
		if bits&(1<<i) != 0 {
			out = append(out, l)
		}
	}
	return out
}

// remaining returns the errors that stay, word by word, when the lacks have possible values.
func remaining(all field.ErrorList, env conversion.Env, lacks []Lack, check func(conversion.Env) field.ErrorList) field.ErrorList {
	for _, l := range lacks {
		l.suppose(&env)
	}
	there := check(env)
	return missing(all, missing(all, there))
}

// infrastructure returns an Infrastructure with what is known of it, and with possible values for the rest. Its tags and labels may be those that the
// infrastructure cluster gives to all instances, because an installer writes the same ones to both objects.
func infrastructure(c Cluster, might conversion.Supposition, infraCluster map[string]any) map[string]any {
	name := strings.ToLower(c.Platform)
	status := object(might.PlatformStatus)
	for here, there := range map[string]string{"resourceTags": "additionalTags", "resourceLabels": "additionalLabels"} {
		given, _, _ := unstructured.NestedStringMap(infraCluster, "spec", there)
		var list []any
		for _, key := range slices.Sorted(maps.Keys(given)) {
			list = append(list, map[string]any{"key": key, "value": given[key]})
		}
		if list != nil {
			status[here] = list
		}
	}
	if c.Region != "" {
		status["region"] = c.Region
	}
	return map[string]any{
		"spec":   map[string]any{"platformSpec": map[string]any{"type": c.Platform, name: object(might.PlatformSpec)}},
		"status": map[string]any{"infrastructureName": c.Name, "platformStatus": map[string]any{"type": c.Platform, name: status}},
	}
}

// object parses a new object from the text, so that conversions share nothing.
func object(text string) map[string]any {
	out := map[string]any{}
	_ = json.Unmarshal([]byte(text), &out) // "" is empty, and a test parses the others
	return out
}
