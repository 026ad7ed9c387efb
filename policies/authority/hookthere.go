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

// HookList describes one of the two lists of hooks in the Machine API's spec.lifecycleHooks. Field is the name of the list. Cluster API has annotations instead
// of the list, and Prefix is the prefix of their names.
type HookList struct{ Field, Prefix string }

// HookLists returns the two lists, in the order in which a deletion waits for their hooks.
func HookLists() []HookList {
	return []HookList{
		{"preDrain", clusterv1.PreDrainDeleteHookAnnotationPrefix + "/"}, {"preTerminate", clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/"},
	}
}

// hookInstead returns the part of a lock's message with the command that changes hooks in the authoritative object. It is for a refused request that adds hooks
// to, or removes them from, the spec of the other object. The command is needed because each API has hooks in another form. In a MachineSet, the hooks are
// those that the template has for the set's Machines. It returns "" for a request that changes no hook.
func hookInstead(c policies.Change) string {
	switch {
	case c.Subresource != "" || c.Operation != admissionv1.Update:
	case c.Side == policies.SideMachineAPI && c.Kind == "Machine":
		if words := hookWords(c, "%s=%s", "%s-"); len(words) > 0 {
			return fmt.Sprintf(" (in Cluster API a hook is an annotation: kubectl -n %s annotate machines.%s %s %s --overwrite)",
				c.TwinNamespace, clusterv1.GroupVersion.Group, c.Name, strings.Join(words, " "))
		}
	case c.Side == policies.SideMachineAPI && c.Kind == "MachineSet":
		if words := hookWords(c, `"%s":"%s"`, `"%s":null`); len(words) > 0 {
			return fmt.Sprintf(` (in Cluster API a hook is an annotation: kubectl -n %s patch machinesets.%s %s --type merge `+
				`-p '{"spec":{"template":{"metadata":{"annotations":{%s}}}}}')`,
				c.TwinNamespace, clusterv1.GroupVersion.Group, c.Name, strings.Join(words, ","))
		}
	case c.Side == policies.SideClusterAPI && c.Kind == "MachineSet":
		before, after := templateAnnotations(c.Old), templateAnnotations(c.New)
		if patch := hooksPatch(mapChanges(true, before, after), after); patch != "" {
			return fmt.Sprintf(` (in Machine API a hook is a list item: kubectl -n %s patch machinesets.%s %s --type merge `+
				`-p '{"spec":{"template":{"spec":%s}}}')`,
				c.TwinNamespace, machinev1beta1.GroupName, c.Name, patch)
		}
	}
	return ""
}

// hookWords returns what a request changes in the Machine API's hooks, as arguments of a command that changes Cluster API's annotations. set is the format for
// a hook that is set; it gets the annotation's name and value. remove is the format for a hook that is removed; it gets the name.
func hookWords(c policies.Change, set, remove string) []string {
	var words []string
	before, after := hooksIn(c.Kind, c.Old), hooksIn(c.Kind, c.New)
	for _, list := range HookLists() {
		for _, h := range after[list.Field] {
			if !slices.Contains(before[list.Field], h) {
				words = append(words, fmt.Sprintf(set, list.Prefix+h.Name, plain(h.Owner)))
			}
		}
		for _, h := range before[list.Field] {
			if !slices.ContainsFunc(after[list.Field], func(now machinev1beta1.LifecycleHook) bool { return now.Name == h.Name }) {
				words = append(words, fmt.Sprintf(remove, list.Prefix+h.Name))
			}
		}
	}
	return words
}

// hooksIn returns the hooks of a Machine API Machine, or of a MachineSet's template, as a map from the name of the list to the hooks.
func hooksIn(kind string, o *policies.Object) map[string][]machinev1beta1.LifecycleHook {
	type lists map[string][]machinev1beta1.LifecycleHook
	var spec struct {
		LifecycleHooks lists `json:"lifecycleHooks"`
		Template       struct {
			Spec struct {
				LifecycleHooks lists `json:"lifecycleHooks"`
			} `json:"spec"`
		} `json:"template"`
	}
	_ = json.Unmarshal(orNull(o.Spec), &spec) // a spec that cannot be read has no hooks
	if kind == "MachineSet" {
		return spec.Template.Spec.LifecycleHooks
	}
	return spec.LifecycleHooks
}

// templateAnnotations returns the annotations that a Cluster API set's template has for the set's Machines.
func templateAnnotations(o *policies.Object) map[string]string {
	var spec struct {
		Template struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"template"`
	}
	_ = json.Unmarshal(orNull(o.Spec), &spec)
	return spec.Template.Metadata.Annotations
}

// namedHook returns a hook's annotation. If the annotation consists only of the prefix, namedHook adds NAME in place of the missing name, because the Machine
// API has no hook without a name. Cluster API takes the prefix on its own for a hook too.
func namedHook(annotation string) string {
	if slices.Contains(NamelessHooks(), annotation) {
		return annotation + "/NAME"
	}
	return annotation
}

// NamelessHooks returns the annotations that consist only of a hook prefix, without a hook's name. Cluster API takes them for hooks too.
func NamelessHooks() []string {
	return []string{clusterv1.PreDrainDeleteHookAnnotationPrefix, clusterv1.PreTerminateDeleteHookAnnotationPrefix}
}

// ofHook reports whether a change is of an annotation that stands for a hook in the given list of the Machine API.
func (m metadataChange) ofHook(list HookList) bool {
	return m.annotation && m.key != InstanceHookAnnotation && strings.HasPrefix(namedHook(m.key), list.Prefix)
}

// hooksThere returns the command that gives a Machine API object the hooks that a request would set on the object's Cluster API mirror. It returns "" for a
// request that changes no hook. For a MachineSet the command changes the template, because the set's Machines get the template's annotations, and hooks in the
// set's own annotations have no effect.
func hooksThere(c policies.Change, changes []metadataChange) string {
	resource, spec, annotations := "machines", `{"spec":%s}`, c.New.Metadata.Annotations
	switch {
	case c.Side != policies.SideClusterAPI:
		return ""
	case c.Kind == "MachineSet":
		resource, spec, annotations = "machinesets", `{"spec":{"template":{"spec":%s}}}`, withHooks(templateAnnotations(c.New), annotations)
	case c.Kind != "Machine":
		return ""
	}
	patch := hooksPatch(changes, annotations)
	if patch == "" {
		return ""
	}
	return fmt.Sprintf(`kubectl -n %s patch %s.%s %s --type merge -p '%s'`, c.TwinNamespace, resource, machinev1beta1.GroupName, c.Name, fmt.Sprintf(spec, patch))
}

// withHooks returns the template's annotations, and those of the set's own annotations that are hooks.
func withHooks(template, set map[string]string) map[string]string {
	out := maps.Clone(set)
	maps.DeleteFunc(out, func(key, _ string) bool {
		return !slices.ContainsFunc(HookLists(), func(list HookList) bool { return metadataChange{key: key, annotation: true}.ofHook(list) })
	})
	if out == nil {
		return template
	}
	maps.Copy(out, template)
	return out
}

// hooksPatch returns the patch of a Machine API spec that writes each list of hooks in which something changes. A list gets all hooks in annotations that
// belong to it. hooksPatch returns "" if no list changes.
func hooksPatch(changes []metadataChange, annotations map[string]string) string {
	var lists []string
	for _, list := range HookLists() {
		if !slices.ContainsFunc(changes, func(m metadataChange) bool { return m.ofHook(list) }) {
			continue
		}
		hooks := []string{}
		for _, key := range slices.Sorted(maps.Keys(annotations)) {
			if name, is := strings.CutPrefix(namedHook(key), list.Prefix); is && key != InstanceHookAnnotation {
				hooks = append(hooks, fmt.Sprintf(`{"name":"%s","owner":"%s"}`, name, plain(annotations[key])))
			}
		}
		lists = append(lists, fmt.Sprintf(`"%s":[%s]`, list.Field, strings.Join(hooks, ",")))
	}
	if len(lists) == 0 {
		return ""
	}
	return fmt.Sprintf(`{"lifecycleHooks":{%s}}`, strings.Join(lists, ","))
}

// plain returns the value as it is shown in a command (PlainValue): as it is, or VALUE.
func plain(value string) string {
	if plainValue.MatchString(value) {
		return value
	}
	return "VALUE"
}
