// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	stdjson "encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// fold renames each member of a JSON text whose name differs only in case from a name in the typed value into. This is necessary because all decoders of the
// Machine API accept names in any case, and documented samples have other spellings (UUID for uuid). If the text has a member in two spellings, fold renames
// neither, because either may be meant, unless the value of one is null.
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
		return false // a type that decodes itself does not show the names of its members
	}
	switch value := value.(type) {
	case map[string]any:
		switch into.Kind() {
		case reflect.Struct:
			return foldMembers(value, into)
		case reflect.Map: // users choose the members' names, so only the values are folded
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
	known, given := map[string][]string{}, map[string]int{} // the keys are names without case
	for name := range names {
		known[anyCase(name)] = append(known[anyCase(name)], name)
	}
	for name := range value {
		given[anyCase(name)]++
	}
	for name, member := range value { // a null beside another spelling changes nothing, so it does not make that spelling ambiguous
		if meant := known[anyCase(name)]; member == nil && given[anyCase(name)] > 1 && len(meant) == 1 && keepsOnNull(names[meant[0]].Type()) {
			given[anyCase(name)]--
			delete(value, name)
		}
	}
	for _, name := range slices.Collect(maps.Keys(value)) {
		field, is := names[name]
		if !is {
			meant := known[anyCase(name)]
			if len(meant) != 1 || given[anyCase(name)] != 1 {
				continue // the name belongs to no field, or two spellings make it ambiguous
			}
			spelt := meant[0]
			value[spelt], field, changed = value[name], names[spelt], true
			delete(value, name)
			name = spelt
		}
		changed = foldValue(value[name], field) || changed
	}
	return changed
}

// keepsOnNull reports whether encoding/json leaves a value of this type as it is when it decodes null into it.
func keepsOnNull(t reflect.Type) bool {
	return !opaque(t) && !slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice}, t.Kind())
}

// anyCase maps all texts that differ only in case (that strings.EqualFold finds equal) to the same text.
func anyCase(text string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, text)
}

// collect adds a struct's fields to names, by their JSON names. It includes the fields of embedded structs.
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
