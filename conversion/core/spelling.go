// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/poundlock/poundlock/conversion"
)

// KeepSpelling changes want, the result of a conversion, so that its spec is written like the spec of has, the stored Machine API object, as long as want's
// meaning stays the same. It keeps empty members and, in the providerSpec, the spelling of every part. It is necessary because the Go types do not
// distinguish an empty member from an absent one. Without KeepSpelling, after a change of one field in Cluster API, the manifest's owner would find other
// fields changed, and defaults added.
func KeepSpelling(kindName string, has, want *unstructured.Unstructured, env conversion.Env) {
	k, ok := kindNamed(kindName)
	if !ok {
		return
	}
	if k.infra == nil {
		// The whole spec of a health check can be spelt differently, because durations (300s, 5m) and numbers (5, "5") have several spellings.
		keep(kindName, has, want, env, "spec")
		return
	}
	keepEmpty(has.Object["spec"], want.Object["spec"])
	keepEmptyMarks(has, want, "metadata", "annotations")
	if len(k.machineSpec) > 1 { // a MachineSet
		keepEmptyMarks(has, want, "spec", "template", "metadata", "annotations")
	}
	keep(kindName, has, want, env, append(slices.Clone(k.machineSpec), "providerSpec", "value")...)
}

// keepEmpty adds to want the empty members of has, and also a minReadySeconds of 0, which means the same as an absent one. (0 replicas do not mean the same
// as absent replicas.) It skips a providerSpec, in which some empty members have a meaning. It adds no labels and annotations with an empty value, because
// these have a meaning too.
func keepEmpty(has, want any) {
	written, ok := has.(map[string]any)
	wanted, there := want.(map[string]any)
	if !ok || !there {
		return
	}
	for name, value := range written {
		_, there := wanted[name]
		before, isList := value.([]any)
		now, both := wanted[name].([]any)
		switch {
		case name == "providerSpec":
		case isList && both:
			if name == "preDrain" || name == "preTerminate" {
				keepOrder(before, now)
			}
			keepEmptyOfItems(before, now)
		case there && !named(name):
			keepEmpty(value, wanted[name])
		case !there && (isEmpty(name, value) || name == "minReadySeconds" && value == int64(0)):
			wanted[name] = runtime.DeepCopyJSONValue(value)
		}
	}
}

func keepEmptyOfItems(written, wanted []any) {
	for i := range min(len(written), len(wanted)) {
		item, is := wanted[i].(map[string]any)
		if !is {
			continue
		}
		item = runtime.DeepCopyJSON(item)
		if keepEmpty(written[i], item); equality.Semantic.DeepEqual(written[i], any(item)) {
			wanted[i] = item
		}
	}
}

// keepOrder sorts wanted, a list of objects with names, in the order of written. New items come last.
func keepOrder(written, wanted []any) {
	nameOf := func(item any) string {
		object, _ := item.(map[string]any)
		name, _ := object["name"].(string)
		return name
	}
	place := map[string]int{}
	for i, item := range written {
		place[nameOf(item)] = i - len(written)
	}
	slices.SortStableFunc(wanted, func(a, b any) int { return place[nameOf(a)] - place[nameOf(b)] })
}

// keepEmptyMarks adds to want the annotations of has that would mark a Machine for deletion, but are empty and so have no effect. The conversion does not copy
// them. path is the path of the annotations.
func keepEmptyMarks(has, want *unstructured.Unstructured, path ...string) {
	written, _, _ := unstructured.NestedStringMap(has.Object, path...)
	wanted, _, err := unstructured.NestedStringMap(want.Object, path...)
	if err != nil {
		return
	}
	newer, _ := machineAPIName(clusterv1.DeleteMachineAnnotation)
	for _, name := range []string{newer, oldDelete} {
		value, marked := written[name]
		if _, there := wanted[name]; marked && value == "" && !there {
			put(&wanted, name, "")
			_ = unstructured.SetNestedStringMap(want.Object, wanted, path...) // cannot fail: NestedStringMap could follow the path
		}
	}
}

// isEmpty reports whether a value of a field means the same as an absent field. It is for fields of Machines, MachineSets and MachineHealthChecks outside a
// providerSpec.
func isEmpty(field string, value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if named(field) || !isEmpty(name, member) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return value == nil || value == ""
}

// mostTrials is the maximum number of conversions that are made to keep the spelling of one object, and mostTrialsOfLarge that of an object with more than
// large bytes. If an object has more differences, the rest keeps the spelling of the conversion.
const (
	mostTrials        = 100
	mostTrialsOfLarge = 15
	large             = 1 << 13
)

// speller replaces parts of an object by another spelling that has the same meaning.
type speller struct {
	// same reports whether the object, as it is spelt now, still converts to the wanted Cluster API objects.
	same func() bool
	// left is the number of trials that may still be made.
	left int
}

func keep(kindName string, has, want *unstructured.Unstructured, env conversion.Env, path ...string) {
	written, _, _ := unstructured.NestedMap(has.Object, path...)
	wanted, _, _ := unstructured.NestedMap(want.Object, path...)
	if path[len(path)-1] == "spec" {
		delete(written, "authoritativeAPI") // the conversion does not copy this field, which belongs to the user
	}
	if written == nil || wanted == nil || equality.Semantic.DeepEqual(written, wanted) {
		return
	}
	means, errs := ToClusterAPI(kindName, want, env)
	if len(errs) > 0 {
		return
	}
	kept := want.DeepCopy()
	parent := kept.Object
	for _, name := range path[:len(path)-1] {
		parent, _ = parent[name].(map[string]any) // cannot fail: NestedMap has followed the path
	}
	set := func(v any) { parent[path[len(path)-1]] = v }
	s := speller{left: trialsFor(written), same: func() bool {
		is, errs := ToClusterAPI(kindName, kept, env)
		return len(errs) == 0 && equality.Semantic.DeepEqual(is, means)
	}}
	for range 2 { // one field's spelling may depend on another's
		s.spell(written, wanted, set)
		wanted, _, _ = unstructured.NestedMap(kept.Object, path...)
	}
	want.Object = runtime.DeepCopyJSON(kept.Object) // kept may have parts of has
}

func trialsFor(written map[string]any) int {
	if raw, err := json.Marshal(written); err == nil && len(raw) > large {
		return mostTrialsOfLarge
	}
	return mostTrials
}

// try reports whether the object still has its meaning after the change that the caller has just made. It always returns false if no trials are left.
func (s *speller) try() bool {
	if s.left == 0 {
		return false
	}
	s.left--
	return s.same()
}

// spell calls set with the written value. If that changes the object's meaning, spell calls set with the wanted value instead, and then tries each of the
// value's members or items in the same way. It changes neither of the two values, but what it sets may have parts of both.
func (s *speller) spell(written, wanted any, set func(any)) {
	if s.left == 0 || equality.Semantic.DeepEqual(written, wanted) {
		return
	}
	if set(written); s.try() {
		return
	}
	set(wanted)
	switch wanted := wanted.(type) {
	case map[string]any:
		if written, is := written.(map[string]any); is {
			all := maps.Clone(wanted)
			set(all)
			s.spellMembers(written, wanted, all)
		}
	case []any:
		if written, is := written.([]any); is && len(written) == len(wanted) {
			all := slices.Clone(wanted)
			set(all)
			for i := range wanted {
				s.spell(written[i], wanted[i], func(v any) { all[i] = v })
			}
		}
	}
}

// spellMembers does for an object's members what spell does for a value. It also keeps which members are present, and how their names are written, because
// the Machine API accepts these names in any case. all are the members that the object now has.
func (s *speller) spellMembers(written, wanted, all map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if s.left == 0 {
			return
		}
		value, spelt := wanted[name], spellingIn(written, name)
		if _, there := wanted[spelt]; spelt != name && spelt != "" && !there {
			delete(all, name)
			if all[spelt] = value; !s.try() {
				delete(all, spelt)
				all[name] = value
				spelt = ""
			} else {
				name = spelt
			}
		}
		if spelt != "" {
			s.spell(written[spelt], value, func(v any) { all[name] = v })
			continue
		}
		if delete(all, name); !s.try() {
			all[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if _, there := all[name]; there || s.left == 0 || spellingIn(wanted, name) != "" {
			continue
		}
		if all[name] = written[name]; !s.try() {
			delete(all, name)
		}
	}
}

// spellingIn returns the name of a member as an object writes it. It ignores case. The result is "" if the object does not have the member.
func spellingIn(object map[string]any, name string) string {
	if _, there := object[name]; there {
		return name
	}
	for _, other := range slices.Sorted(maps.Keys(object)) {
		if strings.EqualFold(other, name) {
			return other
		}
	}
	return ""
}
