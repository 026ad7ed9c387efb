// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
)

// Values maps a field's path, such as "tags[].name", to a maker of valid values, for fields whose values must obey rules. A maker returns a value of the
// field's type. If the field is a pointer, the maker may return a value of the type that it points to. The pointer is then nil in one of three cases.
type Values map[string]func(r *rand.Rand) any

// OneOf returns a maker that picks one of the given values.
func OneOf[T any](values ...T) func(*rand.Rand) any {
	return func(r *rand.Rand) any { return values[r.IntN(len(values))] }
}

// filler fills a value with anything that the value's type allows: lists and maps that have up to five elements or are nil, and pointers that may be nil.
type filler struct {
	r      *rand.Rand
	values Values
	// zero reports whether the field at a path must keep its zero value.
	zero func(path string) bool
}

func (f filler) fill(v reflect.Value, path string) {
	if f.zero(path) {
		return
	}
	if maker, ok := f.values[path]; ok {
		f.place(v, reflect.ValueOf(maker(f.r)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if f.r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), path)
		}
	case reflect.Struct:
		f.fillStruct(v, path)
	case reflect.Slice:
		f.fillSlice(v, path)
	case reflect.Map:
		f.fillMap(v, path)
	default:
		f.fillScalar(v)
	}
}

func (f filler) place(v, made reflect.Value) {
	switch {
	case !made.IsValid():
	case made.Type().ConvertibleTo(v.Type()) && made.Kind() == v.Kind():
		v.Set(made.Convert(v.Type()))
	case v.Kind() == reflect.Pointer && f.r.IntN(3) > 0:
		v.Set(reflect.New(v.Type().Elem()))
		v.Elem().Set(made.Convert(v.Type().Elem()))
	}
}

func (f filler) fillStruct(v reflect.Value, path string) {
	if reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[json.Marshaler]()) {
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case name == "":
			f.fill(v.Field(i), path)
		default:
			f.fill(v.Field(i), strings.TrimPrefix(path+"."+name, "."))
		}
	}
}

// length returns a random length for a list or map. -1 means nil.
func (f filler) length() int { return f.r.IntN(7) - 1 }

func (f filler) fillSlice(v reflect.Value, path string) {
	n := f.length()
	if n < 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.fill(v.Index(i), path+"[]")
	}
}

func (f filler) fillMap(v reflect.Value, path string) {
	n := f.length()
	if n < 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, path+".key")
		f.fill(value, path+".value")
		v.SetMapIndex(key, value)
	}
}

func (f filler) fillScalar(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(Word(f.r))
	case reflect.Bool:
		v.SetBool(f.r.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.r.IntN(1000) + 1))
	}
}

// Word returns a random word of one to six characters. The shortest words occur several times in a test.
func Word(r *rand.Rand) string {
	out := make([]byte, 1+r.IntN(6))
	for i := range out {
		out[i] = "abcdefgh12345678"[r.IntN(16)]
	}
	return string(out)
}
