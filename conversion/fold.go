// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	stdjson "encoding/json"
	"reflect"
	"strings"
)

// fold spells the members of a JSON text as a typed value does, where they differ in case alone. All readers of the Machine API take any case, and
// documented samples have other ones (UUID for uuid). A member that is there in both spellings is left alone: which of them counts is nobody's to guess.
func fold(raw []byte, into any) (folded []byte, changed bool) {
	var value any
	decoder := stdjson.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil || !foldValue(value, reflect.ValueOf(into)) {
		return raw, false
	}
	folded, err := stdjson.Marshal(value)
	return folded, err == nil
}

func foldValue(value any, into reflect.Value) (changed bool) {
	for into.Kind() == reflect.Pointer || into.Kind() == reflect.Interface {
		if into.Kind() == reflect.Pointer && into.IsNil() {
			into = reflect.New(into.Type().Elem())
		}
		if into = into.Elem(); !into.IsValid() {
			return false
		}
	}
	if opaque(into.Type()) {
		return false // it reads itself
	}
	switch value := value.(type) {
	case map[string]any:
		switch into.Kind() {
		case reflect.Struct:
			return foldMembers(value, into)
		case reflect.Map: // the names are somebody's own
			for name := range value {
				changed = foldValue(value[name], reflect.New(into.Type().Elem())) || changed
			}
		}
	case []any:
		for i := range value {
			changed = into.Kind() == reflect.Slice && foldValue(value[i], reflect.New(into.Type().Elem())) || changed
		}
	}
	return changed
}

func foldMembers(value map[string]any, into reflect.Value) (changed bool) {
	names := map[string]reflect.Value{}
	collect(into, names)
	for name := range value {
		field, known := names[name]
		if !known {
			spelt, found := onlyMatch(name, names, value)
			if !found {
				continue
			}
			value[spelt], field, changed = value[name], names[spelt], true
			delete(value, name)
			name = spelt
		}
		changed = foldValue(value[name], field) || changed
	}
	return changed
}

// onlyMatch is the one member that a name can mean.
func onlyMatch(name string, names map[string]reflect.Value, value map[string]any) (spelt string, found bool) {
	for known := range names {
		if !strings.EqualFold(known, name) {
			continue
		}
		if _, there := value[known]; there || found {
			return "", false
		}
		spelt, found = known, true
	}
	for other := range value {
		if found && other != name && strings.EqualFold(other, name) {
			return "", false
		}
	}
	return spelt, found
}

// collect lists a struct's members by their names in JSON, those of embedded structs among them.
func collect(v reflect.Value, names map[string]reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := jsonName(f)
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case name != "":
			names[name] = v.Field(i)
		case v.Field(i).Kind() == reflect.Struct:
			collect(v.Field(i), names)
		}
	}
}
