// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Encode converts a typed value (a pointer) into JSON's maps and lists. It leaves out lists, maps and pointers that are absent, and empty structs.
// encoding/json would write them, and a client that applies such a result would own fields that nobody has set.
func Encode(typed any) (map[string]any, error) { return encode(typed, pruner{}) }

// EncodeProviderSpec converts a typed providerSpec (a pointer) into JSON's maps and lists, like Encode. It also leaves out empty text in fields of a string
// type, because a type that always writes such a field cannot distinguish empty text from absent text.
func EncodeProviderSpec(typed any) (map[string]any, error) { return encode(typed, pruner{text: true}) }

func encode(typed any, p pruner) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	p.prune(reflect.ValueOf(typed), out)
	return out, nil
}

// pruner removes empty values from the JSON of a typed value. If text is true, it also removes empty text.
type pruner struct{ text bool }

// prune walks the typed value and its JSON together, because only the type shows what an empty object means. An empty object behind a pointer was set by
// somebody, but an empty struct is just the zero value, and is removed.
func (p pruner) prune(v reflect.Value, out any) {
	if v = indirect(v); !v.IsValid() {
		return
	}
	switch out := out.(type) {
	case map[string]any:
		if v.Kind() == reflect.Struct {
			p.pruneStruct(v, out)
		}
	case []any:
		for i := range out {
			if v.Kind() == reflect.Slice {
				p.prune(v.Index(i), out[i])
			}
		}
	}
}

func (p pruner) pruneStruct(v reflect.Value, out map[string]any) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := jsonName(f)
		if name == "" && f.Anonymous {
			p.prune(v.Field(i), out)
			continue
		}
		value, there := out[name]
		if !there {
			continue
		}
		if value == nil && f.Type.Kind() != reflect.Struct { // a null struct is kept: the JSON of an unknown time is null, for example
			delete(out, name)
			continue
		}
		if p.text && value == "" && f.Type.Kind() == reflect.String {
			delete(out, name)
			continue
		}
		p.prune(v.Field(i), value)
		if m, ok := value.(map[string]any); ok && len(m) == 0 && f.Type.Kind() == reflect.Struct {
			delete(out, name)
		}
	}
}
