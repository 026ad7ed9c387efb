// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Encode turns a typed value (a pointer) into JSON's maps and lists. Absent lists, maps and pointers, and structs that say
// nothing, are left out: encoding/json keeps them, and a writer that applies them would own fields that nobody has set.
func Encode(typed any) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	prune(reflect.ValueOf(typed), out)
	return out, nil
}

// prune walks the typed value and its JSON side by side: an empty object behind a pointer means something, one that is
// a struct's zero value does not.
func prune(v reflect.Value, out any) {
	if v = indirect(v); !v.IsValid() {
		return
	}
	switch out := out.(type) {
	case map[string]any:
		if v.Kind() == reflect.Struct {
			pruneStruct(v, out)
		}
	case []any:
		for i := range out {
			if v.Kind() == reflect.Slice {
				prune(v.Index(i), out[i])
			}
		}
	}
}

func pruneStruct(v reflect.Value, out map[string]any) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := jsonName(f)
		if name == "" && f.Anonymous {
			prune(v.Field(i), out)
			continue
		}
		value, there := out[name]
		if !there {
			continue
		}
		if value == nil && f.Type.Kind() != reflect.Struct { // a time that is not known is null, and has a place to be filled in
			delete(out, name)
			continue
		}
		prune(v.Field(i), value)
		if m, ok := value.(map[string]any); ok && len(m) == 0 && f.Type.Kind() == reflect.Struct {
			delete(out, name)
		}
	}
}
