// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/policies"
)

// HookList is one of the two lists of hooks in the Machine API's spec.lifecycleHooks, by its field, and the beginning of the names of the annotations that
// Cluster API has instead.
type HookList struct{ Field, Prefix string }

// HookLists are in the order in which a deletion comes to them.
func HookLists() []HookList {
	return []HookList{
		{"preDrain", clusterv1.PreDrainDeleteHookAnnotationPrefix + "/"}, {"preTerminate", clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/"},
	}
}

// hookInstead is the command for a hook that a request adds to a Machine of the Machine API's, or removes: Cluster API has no such field.
func hookInstead(c policies.Change) string {
	if c.Kind != "Machine" || c.Side != policies.SideMachineAPI || c.Subresource != "" || c.Operation != admissionv1.Update {
		return ""
	}
	var words []string
	before, after := hooksIn(c.Old), hooksIn(c.New)
	for _, list := range HookLists() {
		for _, h := range after[list.Field] {
			if !slices.Contains(before[list.Field], h) {
				words = append(words, list.Prefix+h.Name+"="+plain(h.Owner))
			}
		}
		for _, h := range before[list.Field] {
			if !slices.ContainsFunc(after[list.Field], func(now machinev1beta1.LifecycleHook) bool { return now.Name == h.Name }) {
				words = append(words, list.Prefix+h.Name+"-")
			}
		}
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf(" (a hook is an annotation there: kubectl -n %s annotate machines.%s %s %s --overwrite)",
		c.TwinNamespace, clusterv1.GroupVersion.Group, c.Name, strings.Join(words, " "))
}

// hooksIn are a Machine API Machine's hooks by their list.
func hooksIn(o *policies.Object) map[string][]machinev1beta1.LifecycleHook {
	var spec struct {
		LifecycleHooks map[string][]machinev1beta1.LifecycleHook `json:"lifecycleHooks"`
	}
	_ = json.Unmarshal(orNull(o.Spec), &spec) // what cannot be read has no hooks
	return spec.LifecycleHooks
}

// ofHook reports whether a change is of an annotation by which Cluster API has what the Machine API has in a list of hooks.
func (m metadataChange) ofHook(c policies.Change, list HookList) bool {
	return c.Side == policies.SideClusterAPI && c.Kind == "Machine" && m.annotation && m.key != InstanceHookAnnotation && strings.HasPrefix(m.key, list.Prefix)
}

// hooksThere is the command by which a Machine API Machine gets the hooks that a request would have on its mirror; "" for a request that changes none.
func hooksThere(c policies.Change, changes []metadataChange) string {
	var lists []string
	for _, list := range HookLists() {
		if !slices.ContainsFunc(changes, func(m metadataChange) bool { return m.ofHook(c, list) }) {
			continue
		}
		hooks := []string{}
		for _, key := range slices.Sorted(maps.Keys(c.New.Metadata.Annotations)) {
			if name, is := strings.CutPrefix(key, list.Prefix); is && key != InstanceHookAnnotation {
				hooks = append(hooks, fmt.Sprintf(`{"name":"%s","owner":"%s"}`, name, plain(c.New.Metadata.Annotations[key])))
			}
		}
		lists = append(lists, fmt.Sprintf(`"%s":[%s]`, list.Field, strings.Join(hooks, ",")))
	}
	if len(lists) == 0 {
		return ""
	}
	return fmt.Sprintf(`kubectl -n %s patch machines.%s %s --type merge -p '{"spec":{"lifecycleHooks":{%s}}}'`,
		c.TwinNamespace, machinev1beta1.GroupName, c.Name, strings.Join(lists, ","))
}

// plain is a value as a command shows it.
func plain(value string) string {
	if plainValue.MatchString(value) {
		return value
	}
	return "VALUE"
}
