// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Differences compares a Go type with the schema of a CRD. It returns one sentence for each leaf that exists in only one of them, and one for each leaf whose
// type differs.
func Differences(schema apiextensionsv1.JSONSchemaProps, t reflect.Type) []string {
	return compare(leaves(schema, ""), typed(t, ""))
}

// compare is Differences for leaves: crd and types map the path of each leaf to the leaf's type.
func compare(crd, types map[string]string) []string {
	var out []string
	for path, kind := range crd {
		if have, ok := types[path]; !ok {
			out = append(out, fmt.Sprintf("the CRD has %s (%s), and the type has not", path, kind))
		} else if have != kind {
			out = append(out, fmt.Sprintf("%s is %s in the CRD and %s in the type", path, kind, have))
		}
	}
	for path := range types {
		if _, ok := crd[path]; !ok {
			out = append(out, fmt.Sprintf("the type has %s, and the CRD has not", path))
		}
	}
	slices.Sort(out)
	return out
}

// leaves maps the path of each leaf of a schema to the leaf's type. It uses the same names of types as typed, so that the two results can be compared.
func leaves(s apiextensionsv1.JSONSchemaProps, at string) map[string]string {
	out := map[string]string{}
	switch {
	case s.XIntOrString:
		out[at] = "int or string"
	case s.Type == "array":
		return leaves(*s.Items.Schema, at+"[]")
	case s.Type == "object" && len(s.Properties) > 0:
		for name, p := range s.Properties {
			for path, kind := range leaves(p, strings.TrimPrefix(at+"."+name, ".")) {
				out[path] = kind
			}
		}
	default:
		out[at] = s.Type
		if s.Type == "integer" {
			out[at] += " " + s.Format
		}
	}
	return out
}

// typed maps the path of each leaf of a Go type to the leaf's type. It uses the same names of types as leaves.
func typed(t reflect.Type, at string) map[string]string {
	out := map[string]string{}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
		out[at] = "int or string" // a Quantity, an IntOrString
	case t.Kind() == reflect.Slice:
		return typed(t.Elem(), at+"[]")
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			for path, kind := range typed(t.Field(i).Type, strings.TrimPrefix(at+"."+name, ".")) {
				out[path] = kind
			}
		}
	case t.Kind() == reflect.Int32:
		out[at] = "integer int32"
	case t.Kind() == reflect.Int64:
		out[at] = "integer int64"
	default:
		out[at] = t.Kind().String()
	}
	return out
}
