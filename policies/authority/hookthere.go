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

// hookInstead is the command for the hooks that a request adds to the spec of an object that is not authoritative, or removes: the other API has
// them in another form. Those of a MachineSet's template are for its Machines.
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

// hookWords list what a request changes in the Machine API's hooks, by the name of the annotation that each is there: set has the name and the value, remove
// the name.
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

// hooksIn are the hooks of a Machine API Machine or of a set's template, by their list.
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
	_ = json.Unmarshal(orNull(o.Spec), &spec) // what cannot be read has no hooks
	if kind == "MachineSet" {
		return spec.Template.Spec.LifecycleHooks
	}
	return spec.LifecycleHooks
}

// templateAnnotations are those that a Cluster API set gives its Machines.
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

// namedHook is a hook's annotation with a name in the place of one that is missing. Cluster API takes the prefix alone for a hook, too; the Machine API
// has none without a name.
func namedHook(annotation string) string {
	if slices.Contains(NamelessHooks(), annotation) {
		return annotation + "/NAME"
	}
	return annotation
}

// NamelessHooks are the names of annotations that Cluster API takes for hooks, and that have no name of one.
func NamelessHooks() []string {
	return []string{clusterv1.PreDrainDeleteHookAnnotationPrefix, clusterv1.PreTerminateDeleteHookAnnotationPrefix}
}

// ofHook reports whether a change is of an annotation by which Cluster API has what the Machine API has in a list of hooks.
func (m metadataChange) ofHook(list HookList) bool {
	return m.annotation && m.key != InstanceHookAnnotation && strings.HasPrefix(namedHook(m.key), list.Prefix)
}

// hooksThere is the command by which a Machine API Machine gets the hooks that a request would have on its mirror; "" for a request that changes none. A
// MachineSet's own annotations hold nothing: its Machines get the template's, and so the command is for the template.
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

// withHooks are a template's annotations and those of its set that are hooks.
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

// hooksPatch is the patch of a Machine API spec that gives each list which has a change the hooks of all annotations; "" if none has.
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

// plain is a value as a command shows it.
func plain(value string) string {
	if plainValue.MatchString(value) {
		return value
	}
	return "VALUE"
}
