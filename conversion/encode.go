// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Encode turns a typed value (a pointer) into JSON's maps and lists. It leaves out absent lists, maps and pointers, and empty structs. encoding/json would keep
// them, and a writer that applies such a result would own fields that nobody has set.
func Encode(typed any) (map[string]any, error) { return encode(typed, pruner{}) }

// EncodeProviderSpec turns a typed providerSpec (a pointer) into JSON's maps and lists, like Encode. It also leaves out empty text in fields of a string type:
// a type that always writes such a field cannot distinguish empty text from absent text.
func EncodeProviderSpec(typed any) (map[string]any, error) { return encode(typed, pruner{text: true}) }

func encode(typed any, p pruner) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	p.prune(reflect.ValueOf(typed), out)
	return out, nil
}

// pruner removes empty values from a value's JSON; if text is true, empty text too.
type pruner struct{ text bool }

// prune walks the typed value and its JSON together, because only the type shows what an empty object means: behind a pointer somebody has set it, but a
// struct's zero value means nothing.
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
		if value == nil && f.Type.Kind() != reflect.Struct { // a struct may be null too, as an unknown time is; it is kept
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
