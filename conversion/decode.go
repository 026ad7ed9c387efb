// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/json"

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// Decode reads JSON into a typed value and reports, by path, each field that the type does not have or that occurs twice. It returns false if the JSON does not
// fit the type at all.
func (p *Pass) Decode(raw []byte, into any) bool {
	if jsonnumbers.Endless(raw) {
		p.Invalid("", nil, fmt.Sprintf("contains a number of more than %d digits, or with an exponent below "+
			"-999: no API accepts such a number", jsonnumbers.MaxDigits))
		return false
	}
	strict, err := json.UnmarshalStrict(raw, into)
	if err != nil {
		p.undecodable(raw, into, err)
		return false
	}
	if twice := func(err error) bool { return strings.HasPrefix(err.Error(), "duplicate") }; len(strict) > 0 && !slices.ContainsFunc(strict, twice) {
		if folded, changed := fold(raw, into); changed {
			if strict, err = json.UnmarshalStrict(folded, into); err != nil {
				p.undecodable(folded, into, err)
				return false
			}
		}
	}
	if path, found := jsonnumbers.FindVast(raw, into); found {
		p.Invalid(path, nil, jsonnumbers.TooVast)
		return false
	}
	if len(strict) == 0 {
		return true
	}
	var all any
	_ = stdjson.Unmarshal(raw, &all) // it has been read before
	for _, e := range strict {
		p.unknown(all, e)
	}
	return true
}

func (p *Pass) unknown(all any, err error) {
	path := ""
	if f := json.FieldError(nil); errors.As(err, &f) {
		path = f.FieldPath()
	}
	switch {
	case strings.HasPrefix(err.Error(), "duplicate"):
		p.Invalid(path, nil, "the field is given twice")
		return
	case isEmpty(valueAt(all, path)):
		return // a former field, which clients write empty for ever
	}
	if other := respelt(all, path); other != "" {
		p.Invalid(path, nil, fmt.Sprintf("the field is given twice, also as %s. The Machine API ignores case in field names, so either value may count: "+
			"remove one of the two", other))
		return
	}
	p.Unsupported(path, nil, "unknown field: the field is misspelt, or newer than this version of Poundlock; remove it or correct its name")
}

// respelt is another name in the same object, the first one, that differs from the last one of a path in case alone; "" for none.
func respelt(all any, path string) string {
	i := strings.LastIndexByte(path, '.')
	siblings, _ := valueAt(all, path[:max(i, 0)]).(map[string]any)
	name, first := path[i+1:], ""
	for other := range siblings { // it may be a long one, and is not sorted
		if other != name && strings.EqualFold(other, name) && (first == "" || other < first) {
			first = other
		}
	}
	return first
}

// isEmpty reports whether a value is null, or empty.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// notThere is the value at a path that does not exist.
type notThere struct{}

func valueAt(at any, path string) any {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return notThere{}
			}
			at = v[i]
		default:
			return notThere{}
		}
	}
	return at
}

// undecodable names the field whose value does not have the API's type.
func (p *Pass) undecodable(raw []byte, into any, err error) {
	var wrong *stdjson.UnmarshalTypeError
	if errors.As(stdjson.Unmarshal(raw, into), &wrong) {
		path, want := jsonPath(wrong.Field), wrong.Type
		if typeAt(reflect.ValueOf(into), path) == numberOrText {
			want = numberOrText // which has read the value as a number
		}
		p.Invalid(path, wrong.Value, mistyped(wrong.Value, want))
		return
	}
	path, cause := culprit(raw, reflect.ValueOf(into))
	if path == "" {
		cause = err
	}
	p.Invalid(path, nil, "is not the JSON of the expected type: "+cause.Error())
}

// typeAt is the type at a path without indexes; nil if the value does not show it.
func typeAt(v reflect.Value, path string) reflect.Type {
	for _, name := range strings.Split(path, ".") {
		for v.IsValid() && slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Interface, reflect.Slice}, v.Kind()) {
			switch {
			case v.Kind() == reflect.Slice, v.Kind() == reflect.Pointer && v.IsNil():
				v = reflect.Zero(v.Type().Elem())
			default:
				v = v.Elem()
			}
		}
		if !v.IsValid() {
			return nil
		}
		f, ok := fieldByJSON(v.Type(), name)
		if !ok {
			return nil
		}
		var err error
		if v, err = v.FieldByIndexErr(f.Index); err != nil { // below an embedded pointer that is nil
			return nil
		}
	}
	return plain(v.Type())
}

// numberOrText is a number that may have a fraction, but is then in quotes.
var numberOrText = reflect.TypeFor[intstr.IntOrString]()

// mistyped describes for a person a value of the wrong type. found is encoding/json's word, with the number if there is one.
func mistyped(found string, want reflect.Type) string {
	is, known := map[string]string{"array": "a list", "object": "an object", "bool": "a boolean"}[found]
	if !known {
		is = "a " + eventnote.Cut(found, longest)
	}
	scalar := found != "array" && found != "object"
	for want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	must := "must be of type " + want.String()
	switch kind := want.Kind(); {
	case want == numberOrText:
		must = "must be a whole number, or any number in quotes"
	case kind == reflect.String && scalar:
		must = "must be a string: put it in quotes"
	case kind == reflect.String:
		must = "must be a string"
	case kind == reflect.Bool:
		must = "must be true or false, without quotes"
	case kind >= reflect.Int && kind <= reflect.Int64 && tooLarge(found):
		must = fmt.Sprintf("must be a whole number of at most %d", uint64(1)<<(want.Bits()-1)-1)
	case kind >= reflect.Int && kind <= reflect.Uint64:
		must = "must be a whole number"
	case kind == reflect.Slice:
		must = "must be a list"
	case kind == reflect.Map && want.Elem().Kind() == reflect.String:
		must = "must be an object of strings, KEY: VALUE"
	case kind == reflect.Map || kind == reflect.Struct:
		must = "must be an object"
	}
	return "is " + is + ", and " + must
}

// tooLarge recognizes a whole number that does not fit.
func tooLarge(found string) bool {
	digits, is := strings.CutPrefix(found, "number ")
	return is && !strings.ContainsAny(digits, ".eE-")
}

// culprit finds the field whose JSON does not fit, if the type decodes itself (a quantity) and does not know its path. The path is empty if the JSON as a whole
// is wrong.
func culprit(raw []byte, into reflect.Value) (path string, cause error) {
	switch {
	case into.Kind() == reflect.Pointer && into.IsNil():
		return culprit(raw, reflect.New(into.Type().Elem()))
	case into.Kind() == reflect.Pointer, into.Kind() == reflect.Interface && !into.IsNil():
		return culprit(raw, into.Elem())
	case opaque(into.Type()):
		return "", nil
	}
	switch into.Kind() {
	case reflect.Struct:
		return culpritField(raw, into)
	case reflect.Slice:
		return culpritItem(raw, into.Type().Elem())
	}
	return "", nil
}

func culpritField(raw []byte, into reflect.Value) (path string, cause error) {
	var have map[string]stdjson.RawMessage
	_ = stdjson.Unmarshal(raw, &have) // what is no object has no fields to blame
	for _, f := range reflect.VisibleFields(into.Type()) {
		name := jsonName(f)
		value, ok := have[name]
		at, err := into.FieldByIndexErr(f.Index)
		if !ok || name == "" || err != nil {
			continue
		}
		switch {
		case at.Kind() == reflect.Struct: // as it is: the type of a providerSpec is only known from the value
			into := reflect.New(f.Type)
			into.Elem().Set(at)
			at = into
		case at.Kind() != reflect.Interface || at.IsNil():
			at = reflect.New(f.Type)
		}
		if path, cause = faulty(name, value, at); cause != nil {
			return path, cause
		}
	}
	return "", nil
}

func culpritItem(raw []byte, item reflect.Type) (path string, cause error) {
	var have []stdjson.RawMessage
	_ = stdjson.Unmarshal(raw, &have) // nor what is no list, items
	for i, value := range have {
		if path, cause = faulty("["+strconv.Itoa(i)+"]", value, reflect.New(item)); cause != nil {
			return path, cause
		}
	}
	return "", nil
}

// faulty tries one part, and looks for the wrong part in it.
func faulty(name string, raw []byte, into reflect.Value) (path string, cause error) {
	target := into.Interface()
	if cause = stdjson.Unmarshal(raw, target); cause == nil {
		return "", nil
	}
	inner, reason := culprit(raw, into)
	if reason != nil {
		cause = reason
	}
	if strings.HasPrefix(inner, "[") {
		return name + inner, cause
	}
	return join(name, inner), cause
}

// jsonPath leaves out the embedded structs that encoding/json names in a path; they are no part of the JSON.
func jsonPath(path string) string {
	names := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(names, func(n string) bool { return n != "" && n[0] >= 'A' && n[0] <= 'Z' }), ".")
}

// object is implemented by every providerSpec type: it has a kind.
type object interface{ GetObjectKind() schema.ObjectKind }

// providerKinds are the kinds of OpenShift's providerSpecs.
var providerKinds = []string{
	"AWSMachineProviderConfig", "AzureMachineProviderSpec", "GCPMachineProviderSpec", "OpenstackProviderSpec", "VSphereMachineProviderSpec",
	"NutanixMachineProviderConfig",
	"PowerVSMachineProviderConfig", "BareMetalMachineProviderSpec", "IBMCloudMachineProviderSpec", "AlibabaCloudMachineProviderConfig",
	"KubevirtMachineProviderSpec",
	"LibvirtMachineProviderConfig", "OvirtMachineProviderSpec",
}

// typed is a Table as a Converter.
type typed[M, C any] struct {
	Table[M, C]
	providerSpec schema.GroupVersionKind
}

// Untyped returns a table as a Converter. *M has a kind, which is written and hardly read: the Machine API's controllers use the cluster's platform, so
// long-lived clusters have former groups there, other versions, or nothing. Only a kind of another platform is refused.
func Untyped[M, C any](t Table[M, C], providerSpec schema.GroupVersionKind) Converter {
	return typed[M, C]{Table: t, providerSpec: providerSpec}
}

func (t typed[M, C]) NewProviderSpec() any { return new(M) }

func (t typed[M, C]) NewInfraSpec() any { return new(C) }

func (t typed[M, C]) Recognise(p *Pass, providerSpec any) bool {
	m, ok := providerSpec.(*M)
	if !ok || reflect.ValueOf(m).Elem().IsZero() {
		p.Required("", "without a providerSpec no instance can be created")
		return false
	}
	o, ok := providerSpec.(object)
	if !ok {
		return true
	}
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if kind == t.providerSpec.Kind || !slices.Contains(providerKinds, kind) {
		return true
	}
	p.Invalid("kind", kind, fmt.Sprintf("must be %s, because the cluster's platform is %s", t.providerSpec.Kind, p.Env.Platform.Name))
	return false
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
