// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/poundlock/poundlock/conversion"
)

// KeepSpelling changes want, a conversion's result, so that its spec is spelt like the spec of has, the stored Machine API object, as far as the meaning stays
// the same. It keeps empty members and, in the providerSpec, the spelling of every part. Without it, the types would not distinguish an empty member from an
// absent one: after a change of one field in Cluster API, the manifest's owner would find other fields changed, and defaults added.
func KeepSpelling(kindName string, has, want *unstructured.Unstructured, env conversion.Env) {
	k, ok := kindNamed(kindName)
	if !ok {
		return
	}
	if k.infra == nil {
		// The whole spec of a health check can be spelt differently: its durations (300s, 5m) and its number (5, "5").
		keep(kindName, has, want, env, "spec")
		return
	}
	keepEmpty(has.Object["spec"], want.Object["spec"])
	keep(kindName, has, want, env, append(slices.Clone(k.machineSpec), "providerSpec", "value")...)
}

// keepEmpty adds to want the members of has that are empty, and minReadySeconds if it is 0, which means the same as absent (0 replicas does not). It skips a
// providerSpec, in which some empty members have a meaning. It does not add labels and annotations with an empty value, because these have a meaning too.
func keepEmpty(has, want any) {
	written, ok := has.(map[string]any)
	wanted, there := want.(map[string]any)
	if !ok || !there {
		return
	}
	for name, value := range written {
		_, there := wanted[name]
		switch {
		case name == "providerSpec":
		case there && !named(name):
			keepEmpty(value, wanted[name])
		case !there && (isEmpty(name, value) || name == "minReadySeconds" && value == int64(0)):
			wanted[name] = runtime.DeepCopyJSONValue(value)
		}
	}
}

// isEmpty reports whether the value of a field means the same as an absent field. It is for fields of the core kinds, outside a providerSpec.
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

// mostTrials limits how many conversions are made to keep the spelling of one object. Of an object with more differences, the rest is spelt as the conversion
// spells it.
const mostTrials = 100

// speller replaces parts of an object with another spelling that has the same meaning.
type speller struct {
	// same reports whether the object, as it is spelt now, still converts to the wanted Cluster API objects.
	same   func() bool
	trials int
}

func keep(kindName string, has, want *unstructured.Unstructured, env conversion.Env, path ...string) {
	written, _, _ := unstructured.NestedMap(has.Object, path...)
	wanted, _, _ := unstructured.NestedMap(want.Object, path...)
	if path[len(path)-1] == "spec" {
		delete(written, "authoritativeAPI") // it is the user's, and no part of the conversion
	}
	if written == nil || wanted == nil || equality.Semantic.DeepEqual(written, wanted) {
		return
	}
	means, errs := ToClusterAPI(kindName, want, env)
	if len(errs) > 0 {
		return
	}
	kept := want.DeepCopy()
	set := func(v any) { _ = unstructured.SetNestedField(kept.Object, v, path...) } // cannot fail: the parents exist
	s := speller{same: func() bool {
		is, errs := ToClusterAPI(kindName, kept, env)
		return len(errs) == 0 && equality.Semantic.DeepEqual(is, means)
	}}
	for range 2 { // one field's spelling may depend on another's
		s.spell(written, wanted, set)
		wanted, _, _ = unstructured.NestedMap(kept.Object, path...)
	}
	want.Object = kept.Object
}

// try reports whether the object still has its meaning after the change that was just made. After mostTrials calls it returns false.
func (s *speller) try() bool {
	s.trials++
	return s.trials <= mostTrials && s.same()
}

// spell sets a value, by set, to the written value if the object's meaning stays the same. If not, it sets the wanted value, and tries the same with each of
// the value's members or items.
func (s *speller) spell(written, wanted any, set func(any)) {
	if equality.Semantic.DeepEqual(written, wanted) {
		return
	}
	if set(runtime.DeepCopyJSONValue(written)); s.try() {
		return
	}
	set(runtime.DeepCopyJSONValue(wanted))
	switch wanted := wanted.(type) {
	case map[string]any:
		if written, is := written.(map[string]any); is {
			s.spellMembers(written, wanted, set)
		}
	case []any:
		if written, is := written.([]any); is && len(written) == len(wanted) {
			all := slices.Clone(wanted)
			for i := range wanted {
				s.spell(written[i], wanted[i], func(v any) {
					all[i] = v
					set(runtime.DeepCopyJSONValue(all))
				})
			}
		}
	}
}

// spellMembers is spell for an object. It also keeps how the members' names are written, since the Machine API accepts these names in any case, and which
// members are present.
func (s *speller) spellMembers(written, wanted map[string]any, set func(any)) {
	all := maps.Clone(wanted)
	put := func(name string) func(any) {
		return func(v any) {
			all[name] = v
			set(runtime.DeepCopyJSONValue(all))
		}
	}
	drop := func(name string) {
		delete(all, name)
		set(runtime.DeepCopyJSONValue(all))
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		value, spelt := wanted[name], spellingIn(written, name)
		if _, there := wanted[spelt]; spelt != name && spelt != "" && !there {
			delete(all, name)
			if put(spelt)(value); !s.try() {
				delete(all, spelt)
				put(name)(value)
				spelt = ""
			} else {
				name = spelt
			}
		}
		if spelt != "" {
			s.spell(written[spelt], value, put(name))
			continue
		}
		if drop(name); !s.try() {
			put(name)(value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if _, there := all[name]; there || spellingIn(wanted, name) != "" {
			continue
		}
		if put(name)(runtime.DeepCopyJSONValue(written[name])); !s.try() {
			drop(name)
		}
	}
}

// spellingIn returns the name that a member has in an object, in any case; "" if the object does not have the member.
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
