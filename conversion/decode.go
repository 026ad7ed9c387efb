// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	stdjson "encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"
)

// Decode reads JSON into a typed value and reports, by path, each field that the type does not have or that occurs
// twice. It returns false where the JSON does not fit the type at all.
func (p *Pass) Decode(raw []byte, into any) bool {
	strict, err := json.UnmarshalStrict(raw, into)
	if err != nil {
		p.undecodable(raw, into, err)
		return false
	}
	for _, e := range strict {
		p.unknown(e)
	}
	return true
}

func (p *Pass) unknown(err error) {
	path := ""
	if f := json.FieldError(nil); errors.As(err, &f) {
		path = f.FieldPath()
	}
	if strings.HasPrefix(err.Error(), "duplicate") {
		p.Invalid(path, nil, "the field is given twice")
		return
	}
	p.Unsupported(path, nil, "unknown field: it is misspelt, or newer than this version of Poundlock; remove it or correct its name")
}

// undecodable names the field whose value has another type than the API says.
func (p *Pass) undecodable(raw []byte, into any, err error) {
	var wrong *stdjson.UnmarshalTypeError
	if errors.As(stdjson.Unmarshal(raw, into), &wrong) {
		p.Invalid(jsonPath(wrong.Field), wrong.Value, "must be of type "+wrong.Type.String())
		return
	}
	p.Invalid("", nil, "is not the JSON of the expected type: "+err.Error())
}

// jsonPath leaves out the embedded structs that encoding/json names in a path; they are no part of the JSON.
func jsonPath(path string) string {
	names := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(names, func(n string) bool { return n != "" && n[0] >= 'A' && n[0] <= 'Z' }), ".")
}

// object is what every providerSpec type is: it carries its kind.
type object interface{ GetObjectKind() schema.ObjectKind }

// typed is a Table behind the Converter interface.
type typed[M, C any] struct {
	Table[M, C]
	providerSpec schema.GroupVersionKind
	former       []schema.GroupVersionKind
}

// Untyped puts a table behind the Converter interface. *M carries its kind; a providerSpec of another one is refused,
// but for the names that the same kind had formerly: they are read, and never written.
func Untyped[M, C any](t Table[M, C], providerSpec schema.GroupVersionKind, former ...schema.GroupVersionKind) Converter {
	return typed[M, C]{Table: t, providerSpec: providerSpec, former: former}
}

func (t typed[M, C]) NewProviderSpec() any { return new(M) }

func (t typed[M, C]) NewInfraSpec() any { return new(C) }

func (t typed[M, C]) Recognise(p *Pass, providerSpec any) bool {
	m, ok := providerSpec.(*M)
	if !ok || reflect.ValueOf(m).Elem().IsZero() {
		p.Required("", "without a providerSpec there is nothing to make an instance from")
		return false
	}
	o, ok := providerSpec.(object)
	if !ok {
		return true
	}
	have := o.GetObjectKind().GroupVersionKind()
	return slices.Contains(t.former, have) || p.isKind(t.providerSpec, have)
}

func (t typed[M, C]) ToClusterAPI(p *Pass, providerSpec any) any {
	c := new(C)
	if m, ok := providerSpec.(*M); ok {
		t.Table.ToClusterAPI(p, m, c)
	}
	return c
}

func (t typed[M, C]) ToMachineAPI(p *Pass, infraSpec any) any {
	m := new(M)
	if c, ok := infraSpec.(*C); ok {
		t.Table.ToMachineAPI(p, c, m)
	}
	if o, ok := any(m).(object); ok {
		o.GetObjectKind().SetGroupVersionKind(t.providerSpec)
	}
	return m
}

func (p *Pass) isKind(want, have schema.GroupVersionKind) bool {
	if have.Kind != want.Kind {
		p.Invalid("kind", have.Kind, "must be "+want.Kind)
	}
	if have.GroupVersion() != want.GroupVersion() {
		p.Invalid("apiVersion", have.GroupVersion().String(), "must be "+want.GroupVersion().String())
	}
	return have == want
}
