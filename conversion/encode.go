// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Encode turns a typed value (a pointer) into JSON's maps and lists. It leaves out absent lists, maps and pointers, and empty structs: encoding/json keeps
// them, and a writer that applies them would own fields that nobody has set.
func Encode(typed any) (map[string]any, error) { return encode(typed, pruner{}) }

// EncodeProviderSpec is Encode without empty text, which a type that always writes it does not distinguish from absent text.
func EncodeProviderSpec(typed any) (map[string]any, error) { return encode(typed, pruner{text: true}) }

func encode(typed any, p pruner) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	p.prune(reflect.ValueOf(typed), out)
	return out, nil
}

// pruner leaves out empty values; text: empty text too.
type pruner struct{ text bool }

// prune walks the typed value and its JSON together: an empty object behind a pointer has a meaning, one that is a struct's zero value has none.
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
		if value == nil && f.Type.Kind() != reflect.Struct { // an unknown time is null, and a field that may be set
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
