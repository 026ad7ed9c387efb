// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// meaning is a providerSpec in the form in which two that mean the same are equal. Members that the Go type cannot tell from absent ones are left out,
// and so is what the platform takes for an absent one; lists whose order means nothing are sorted. Fields that the type does not have are kept.
func (p platform) meaning(spec map[string]any) map[string]any {
	if spec == nil {
		return nil
	}
	out, ok := plain(spec).(map[string]any)
	if !ok {
		return spec
	}
	strip(out)
	out = p.essential(out)
	for _, path := range p.void {
		own{path: path}.each(out, func(in map[string]any, name, _ string) { delete(in, name) })
	}
	if p.counting != nil {
		p.counting(out)
	}
	for _, usual := range []map[string]any{p.defaults, p.usual} {
		for path, value := range usual {
			own{path: path}.each(out, func(in map[string]any, name, _ string) {
				if in[name] == value {
					delete(in, name)
				}
			})
		}
	}
	out = p.essential(out)
	p.without(out)
	for _, path := range p.unordered {
		own{path: path}.each(out, func(in map[string]any, name, _ string) {
			if l, ok := in[name].([]any); ok {
				in[name] = sorted(l)
			}
		})
	}
	for _, path := range append([]string{"credentialsSecret"}, p.hollow...) {
		own{path: path}.each(out, func(in map[string]any, name, _ string) {
			if in[name] == present {
				delete(in, name)
			}
		})
	}
	if p.respell != nil {
		p.respell(out)
	}
	return out
}

// essential are the members of a providerSpec that say something.
func (p platform) essential(spec map[string]any) map[string]any {
	if p.spec == nil {
		return spec
	}
	return essential(spec, reflect.TypeOf(p.spec()).Elem())
}

// essential are the members of an object that say something to a struct's type.
func essential(v map[string]any, t reflect.Type) map[string]any {
	known, out := members(t), map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if field, spelt := memberNamed(known, name); field == nil {
			out[name] = v[name] // a field that this build does not have
		} else if said := saying(v[name], field); said != nil {
			out[spelt] = said
		}
	}
	return out
}

// memberNamed is the type of a member, and how it is spelt: Go's JSON reads any case.
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

// saying is what a value means to a type, nil where the type cannot distinguish it from nothing. A value that does not fit the type is kept.
func saying(v any, t reflect.Type) any {
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
	switch said := v.(type) {
	case map[string]any:
		return sayingObject(said, t, pointer)
	case []any:
		return sayingList(said, t)
	case bool:
		if !said && !pointer && t.Kind() == reflect.Bool {
			return nil
		}
	case float64:
		if said == 0 && !pointer && t.Kind() != reflect.Interface {
			return nil
		}
	}
	return v
}

func sayingObject(v map[string]any, t reflect.Type, pointer bool) any {
	switch t.Kind() {
	case reflect.Struct:
		v = essential(v, t)
	case reflect.Map: // the names are somebody's own, and an empty value is one
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

// sayingList keeps every item, since each has its place.
func sayingList(v []any, t reflect.Type) any {
	if len(v) == 0 {
		return nil
	}
	if t.Kind() != reflect.Slice {
		return v
	}
	out := make([]any, len(v))
	for i := range v {
		if out[i] = saying(v[i], t.Elem()); out[i] == nil {
			out[i] = v[i]
		}
	}
	return out
}

// ownWords is a value in the one spelling that its type writes itself, such as 4Gi for 4096Mi.
func ownWords(v any, t reflect.Type, pointer bool) any {
	read, zero := reflect.New(t).Interface(), reflect.New(t).Interface()
	if json.Unmarshal(raw(v), read) != nil {
		return v
	}
	if q, is := read.(*resource.Quantity); is && jsonnumbers.Vast(*q) {
		return v // writing it would take minutes
	}
	said := plain(read)
	if !pointer && reflect.DeepEqual(said, plain(zero)) {
		return nil
	}
	return said
}

// present stands for an empty object behind a pointer: it differs from an absent one, and may mean something, as spotMarketOptions: {} does.
const present = "{}"
