// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
	"github.com/poundlock/poundlock/policies/controlplane/values"
)

// Meaning returns a providerSpec in a canonical form, in which two that mean the same machine are equal. It omits members that the Go type does not distinguish
// from absent ones. It omits a value that the platform would also assume if the member were absent. It sorts lists whose order means nothing. It keeps fields
// that the type does not have.
func (p Row) Meaning(spec map[string]any) map[string]any {
	if spec == nil {
		return nil
	}
	out, ok := values.Plain(spec).(map[string]any)
	if !ok {
		return spec
	}
	StripUnique(out)
	out = p.essential(out)
	if p.Spec != nil { // the readers of a providerSpec know its kind from the cluster's platform
		delete(out, "apiVersion")
		delete(out, "kind")
	}
	for _, path := range p.void {
		Unique{path: path}.Each(out, func(in map[string]any, name, _ string) { delete(in, name) })
	}
	if p.counting != nil {
		p.counting(out)
	}
	for _, usual := range []map[string]any{p.defaults, p.usual} {
		for path, value := range usual {
			Unique{path: path}.Each(out, func(in map[string]any, name, _ string) {
				if in[name] == value {
					delete(in, name)
				}
			})
		}
	}
	out = p.essential(out)
	p.without(out)
	for _, path := range p.Unordered {
		Unique{path: path}.Each(out, func(in map[string]any, name, _ string) {
			if l, ok := in[name].([]any); ok {
				in[name] = values.Sorted(l)
			}
		})
	}
	for _, path := range append([]string{"credentialsSecret"}, p.hollow...) {
		Unique{path: path}.Each(out, func(in map[string]any, name, _ string) {
			if in[name] == present {
				delete(in, name)
			}
		})
	}
	if t, is := out["template"].(string); is && p.templates[t] != "" {
		out["template"] = p.templates[t]
	}
	if p.respell != nil {
		p.respell(out)
	}
	return out
}

// Assumed returns the value that the platform, or this cluster, assumes for an absent member of this providerSpec; nil if it assumes none.
func (p Row) Assumed(path string, spec map[string]any) any {
	if p.follows != nil {
		if v := p.follows(path, spec); v != nil {
			return v
		}
	}
	for _, from := range []map[string]any{p.usual, p.defaults} {
		if v := from[index.ReplaceAllString(path, "[]")]; v != nil && v != 0.0 {
			return v
		}
	}
	return nil
}

// OfCluster reports whether Cluster API takes the value at a path of a machine's providerSpec from the machine's infrastructure cluster object.
func (p Row) OfCluster(path string) bool {
	path = index.ReplaceAllString(path, "[]")
	return slices.ContainsFunc(p.clustered, func(member string) bool {
		rest, below := strings.CutPrefix(path, member)
		return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

var index = regexp.MustCompile(`\[[0-9]+\]`)

// essential returns a providerSpec with only those members that have a meaning.
func (p Row) essential(spec map[string]any) map[string]any {
	if p.Spec == nil {
		return spec
	}
	return essential(spec, reflect.TypeOf(p.Spec()).Elem())
}

// essential returns an object with only those members that have a meaning for the struct type t.
func essential(v map[string]any, t reflect.Type) map[string]any {
	known, out := Members(t), map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if field, spelt := memberNamed(known, name); field == nil {
			out[name] = v[name] // a field that this build does not have
		} else if value := meaningOf(v[name], field); value != nil {
			out[spelt] = value
		}
	}
	return out
}

// memberNamed returns the type and the spelling of the member of a struct that has the given name. The case of the name does not matter, because Go reads JSON
// without regard to case.
func memberNamed(known map[string]reflect.Type, name string) (reflect.Type, string) {
	if t, ok := known[name]; ok {
		return t, name
	}
	for spelt, t := range known {
		if strings.EqualFold(spelt, name) {
			return t, spelt
		}
	}
	return nil, name
}

// meaningOf returns the canonical form of a value of the type t; nil if the type cannot distinguish the value from an absent one. It returns a value that does
// not fit the type unchanged.
func meaningOf(v any, t reflect.Type) any {
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	if v == nil || v == "" {
		return nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return ownWords(v, t, pointer)
	}
	switch value := v.(type) {
	case map[string]any:
		return meaningOfObject(value, t, pointer)
	case []any:
		return meaningOfList(value, t)
	case bool:
		if !value && !pointer && t.Kind() == reflect.Bool {
			return nil
		}
	case float64:
		if value == 0 && !pointer && t.Kind() != reflect.Interface {
			return nil
		}
	}
	return v
}

func meaningOfObject(v map[string]any, t reflect.Type, pointer bool) any {
	switch t.Kind() {
	case reflect.Struct:
		v = essential(v, t)
	case reflect.Map: // users choose the keys of a map, and an empty value has a meaning there
	default:
		return v
	}
	switch {
	case len(v) > 0:
		return v
	case pointer:
		return present
	}
	return nil
}

// meaningOfList returns the canonical form of a list. It keeps every item, because the positions of the items have a meaning.
func meaningOfList(v []any, t reflect.Type) any {
	if len(v) == 0 {
		return nil
	}
	if t.Kind() != reflect.Slice {
		return v
	}
	out := make([]any, len(v))
	for i := range v {
		if out[i] = meaningOf(v[i], t.Elem()); out[i] != nil {
			continue
		}
		if out[i] = v[i]; isObject(v[i]) {
			out[i] = map[string]any{} // all members of the item are zero
		}
	}
	return out
}

// isObject reports whether a value is an object.
func isObject(v any) bool {
	_, is := v.(map[string]any)
	return is
}

// byValue returns a quantity in the shorter of its two notations, for example 1Gi and not 1073741824. Otherwise two equal quantities would differ, because each
// keeps the notation in which it was given.
func byValue(q resource.Quantity) resource.Quantity {
	number := q.AsDec()
	binary, decimal := resource.NewDecimalQuantity(*number, resource.BinarySI), resource.NewDecimalQuantity(*number, resource.DecimalSI)
	if len(decimal.String()) < len(binary.String()) {
		return *decimal
	}
	return *binary
}

// ownWords returns a value in the spelling that its type writes, such as 4Gi for 4096Mi; nil if the type cannot distinguish the value from an absent one.
func ownWords(v any, t reflect.Type, pointer bool) any {
	read, zero := reflect.New(t).Interface(), reflect.New(t).Interface()
	if json.Unmarshal(values.Raw(v), read) != nil {
		return v
	}
	if q, is := read.(*resource.Quantity); is && jsonnumbers.Vast(*q) {
		return v // writing such a number would take minutes
	} else if is {
		read = byValue(*q)
	}
	value := values.Plain(read)
	if !pointer && reflect.DeepEqual(value, values.Plain(zero)) {
		return nil
	}
	return value
}

// present stands for an empty object behind a pointer. Such an object differs from an absent one, and may mean something, as in spotMarketOptions: {}.
const present = "{}"

// Members returns the types of a struct's fields by their names in JSON, including those of embedded structs.
func Members(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			maps.Copy(out, Members(f.Type))
		case f.IsExported():
			out[cmp.Or(name, f.Name)] = f.Type
		}
	}
	return out
}
