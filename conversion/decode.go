// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/json"

	"github.com/poundlock/poundlock/internal/eventnote"
	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

// Decode reads JSON into a typed value and reports, by path, each field that the type does not have or that occurs twice. It returns false if the JSON cannot
// be decoded into the type.
func (p *Pass) Decode(raw []byte, into any) bool {
	if jsonnumbers.Endless(raw) {
		p.Invalid(p.endlessAt(raw), nil, fmt.Sprintf(
			"contains a number with more than %d digits or with an exponent below -999, which no API accepts: correct the number", jsonnumbers.MaxDigits))
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
	_ = stdjson.Unmarshal(raw, &all) // cannot fail: UnmarshalStrict has decoded the same JSON before
	said := false
	for _, e := range strict {
		before := len(*p.errs)
		p.unknown(all, e)
		said = said || len(*p.errs) > before && !besideSpec(pathOf(e))
	}
	if len(strict) >= mostStrict && !said {
		p.Unsupported(inSpec(strict), nil, fmt.Sprintf("this object has %d or more fields that this version of Poundlock does not know. It can only check "+
			"that the first %[1]d are empty: remove these fields", mostStrict))
	}
	return true
}

// mostStrict is the number of unknown or repeated fields after which the decoder reports no more.
const mostStrict = 100

// besideSpec reports whether a field of an object is not in its spec. Callers drop the errors about such a field.
func besideSpec(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, first)
}

// inSpec returns the path of the first field that is not besideSpec; "spec" if there is none.
func inSpec(strict []error) string {
	for _, e := range strict {
		if path := pathOf(e); !besideSpec(path) {
			return path
		}
	}
	return "spec"
}

func pathOf(err error) string {
	if f := json.FieldError(nil); errors.As(err, &f) {
		return f.FieldPath()
	}
	return ""
}

// endlessAt returns the path of the first text or number that jsonnumbers.Endless finds in a JSON text. If only a name is Endless, it returns the path of the
// spec: an error about a Machine needs a path, because one without a path is about the cluster.
func (p *Pass) endlessAt(raw []byte) string {
	var all any
	decoder := stdjson.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // the number is not parsed
	if decoder.Decode(&all) == nil {
		if path, found := endless(all); found {
			return strings.TrimPrefix(path, ".")
		}
	}
	if p.root == "" {
		return "spec"
	}
	return ""
}

func endless(value any) (path string, found bool) {
	switch v := value.(type) {
	case string:
		return "", jsonnumbers.Endless([]byte(strconv.Quote(v)))
	case stdjson.Number:
		return "", jsonnumbers.Endless([]byte(v))
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if below, found := endless(v[name]); found {
				return "." + name + below, true
			}
		}
	case []any:
		for i := range v {
			if below, found := endless(v[i]); found {
				return "[" + strconv.Itoa(i) + "]" + below, true
			}
		}
	}
	return "", false
}

func (p *Pass) unknown(all any, err error) {
	path := pathOf(err)
	switch {
	case strings.HasPrefix(err.Error(), "duplicate"):
		p.Invalid(path, nil, "the field is given twice: remove one of the two")
		return
	case isEmpty(valueAt(all, path)):
		return // An empty value loses nothing. It may be a field that the API once had and that some clients still write.
	}
	if other := respelt(all, path); other != "" {
		p.Invalid(path, nil, fmt.Sprintf("the field is given twice, the second time as %s. The Machine API ignores case in field names, so it may use "+
			"either value: remove one of the two", other))
		return
	}
	for name, why := range p.formerFields() {
		if path == name || strings.HasSuffix(path, ".providerSpec.value."+name) {
			p.Unsupported(path, nil, why)
			return
		}
	}
	p.Unsupported(path, nil,
		"this version of Poundlock does not know this field. The field is misspelt, or newer than Poundlock: remove it, or correct its name")
}

func (p *Pass) formerFields() map[string]string {
	if p.Env == nil {
		return nil
	}
	return p.Env.Platform.FormerFields
}

// respelt returns the name of another member of the same object whose name differs from the last name of path in case only. If there are several, it returns
// the first in alphabetical order; if there is none, "".
func respelt(all any, path string) string {
	i := strings.LastIndexByte(path, '.')
	siblings, _ := valueAt(all, path[:max(i, 0)]).(map[string]any)
	name, first := path[i+1:], ""
	for other := range siblings { // not sorted, because the object may have many members
		if other != name && strings.EqualFold(other, name) && (first == "" || other < first) {
			first = other
		}
	}
	return first
}

// isEmpty reports whether a JSON value is null, or an empty string, list or object.
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

// notThere is what valueAt returns for a path that does not exist. It distinguishes that path from a null value.
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

// undecodable adds an error about the field that the decoder cannot decode, with what its value must be. raw is the JSON, into points to the typed value, and
// err is the decoder's error, which is used if no such field is found.
func (p *Pass) undecodable(raw []byte, into any, err error) {
	var wrong *stdjson.UnmarshalTypeError
	if errors.As(stdjson.Unmarshal(raw, into), &wrong) {
		path, want := jsonPath(wrong.Field), wrong.Type
		if typeAt(reflect.ValueOf(into), path) == numberOrText {
			want = numberOrText // wrong.Type is int32 in this case: numberOrText's decoder took the value for a number
		}
		if indexed, _ := culprit(raw, reflect.ValueOf(into)); indexes.ReplaceAllString(indexed, "") == path {
			path = indexed // encoding/json does not say which item of a list, or which member of a map, it could not decode
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

// indexes matches what encoding/json leaves out of a path: the index of a list's item, and the name of a map's member.
var indexes = regexp.MustCompile(`\[[^\]]*\]`)

// typeAt returns the type of the field at a path below v. The path has no indexes. The result is nil if the field cannot be found, for example below an
// interface or below an embedded pointer that is nil.
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

// numberOrText is the type of fields for a number that may have a fraction. The type has only whole numbers and text, so a number with a fraction must be in
// quotes.
var numberOrText = reflect.TypeFor[intstr.IntOrString]()

// mistyped returns the text of an error about a value of the wrong type: what the value is, and what it must be. found is encoding/json's name for the value,
// such as "array" or "number 1.5".
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
		must = "must be a whole number without quotes, or any number in quotes"
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
		must = "must be an object whose values are strings, KEY: VALUE"
	case kind == reflect.Map || kind == reflect.Struct:
		must = "must be an object"
	}
	return "is " + is + ", and " + must
}

// tooLarge reports whether an integer type has refused a value because it is too large. found is encoding/json's name for the value: a whole number that is
// not negative can only be refused for its size.
func tooLarge(found string) bool {
	digits, is := strings.CutPrefix(found, "number ")
	return is && !strings.ContainsAny(digits, ".eE-")
}

// culprit returns the path and the error of the first field that cannot be decoded from the JSON (raw) into the typed value (into). It is necessary for types
// that decode themselves, such as a quantity, because the errors of these types do not name a path. The path is empty if the JSON is wrong as a whole, and
// not in a certain field.
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
	case reflect.Map:
		return culpritMember(raw, into.Type().Elem())
	}
	return "", nil
}

func culpritMember(raw []byte, member reflect.Type) (path string, cause error) {
	var have map[string]stdjson.RawMessage
	_ = stdjson.Unmarshal(raw, &have) // if the JSON is no object, there is no member to find
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if path, cause = faulty("["+name+"]", have[name], reflect.New(member)); cause != nil {
			return path, cause
		}
	}
	return "", nil
}

func culpritField(raw []byte, into reflect.Value) (path string, cause error) {
	var have map[string]stdjson.RawMessage
	_ = stdjson.Unmarshal(raw, &have) // if the JSON is no object, there is no field to find
	for _, f := range reflect.VisibleFields(into.Type()) {
		name := jsonName(f)
		value, ok := have[name]
		at, err := into.FieldByIndexErr(f.Index)
		if !ok || name == "" || err != nil {
			continue
		}
		switch {
		case at.Kind() == reflect.Struct: // a copy of the value, because only the value, and not the field's type, shows the type of a providerSpec
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
	_ = stdjson.Unmarshal(raw, &have) // if the JSON is no list, there is no item to find
	for i, value := range have {
		if path, cause = faulty("["+strconv.Itoa(i)+"]", value, reflect.New(item)); cause != nil {
			return path, cause
		}
	}
	return "", nil
}

// faulty decodes the JSON of one field or item, called name. If the JSON cannot be decoded, faulty returns the path and the error of the part that is wrong.
// Otherwise cause is nil.
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

// jsonPath removes from a path of encoding/json the names of embedded Go structs, which begin with a capital letter and are no part of the JSON.
func jsonPath(path string) string {
	names := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(names, func(n string) bool { return n != "" && n[0] >= 'A' && n[0] <= 'Z' }), ".")
}

// object is implemented by every providerSpec type. It gives access to the providerSpec's kind.
type object interface{ GetObjectKind() schema.ObjectKind }

// providerKinds are the kinds of OpenShift's providerSpecs.
var providerKinds = []string{
	"AWSMachineProviderConfig", "AzureMachineProviderSpec", "GCPMachineProviderSpec", "OpenstackProviderSpec", "VSphereMachineProviderSpec",
	"NutanixMachineProviderConfig",
	"PowerVSMachineProviderConfig", "BareMetalMachineProviderSpec", "IBMCloudMachineProviderSpec", "AlibabaCloudMachineProviderConfig",
	"KubevirtMachineProviderSpec",
	"LibvirtMachineProviderConfig", "OvirtMachineProviderSpec",
}

// typed is a Table as a Converter. providerSpec is the apiVersion and kind of the Table's type M.
type typed[M, C any] struct {
	Table[M, C]
	providerSpec schema.GroupVersionKind
}

// Untyped returns a table as a Converter. *M must have an apiVersion and a kind. Conversion to *M writes both. Conversion from *M refuses a kind only if it
// belongs to another platform's providerSpec. It accepts every other apiVersion and kind, because the Machine API's controllers ignore both and use the
// cluster's platform: in long-lived clusters there are former groups, other versions, or neither of the two.
func Untyped[M, C any](t Table[M, C], providerSpec schema.GroupVersionKind) Converter {
	return typed[M, C]{Table: t, providerSpec: providerSpec}
}

func (t typed[M, C]) NewProviderSpec() any { return new(M) }

func (t typed[M, C]) NewInfraSpec() any { return new(C) }

func (t typed[M, C]) Recognise(p *Pass, providerSpec any) bool {
	m, ok := providerSpec.(*M)
	if !ok || reflect.ValueOf(m).Elem().IsZero() {
		p.Required("", "a Machine needs a providerSpec, because without one no instance can be created: set it")
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
