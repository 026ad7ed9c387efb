// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonnumbers

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// MaxDigits is the limit for the digits of a number: far more than a number needs, and far fewer than take long to parse.
const MaxDigits = 128

var tiny = regexp.MustCompile(`(^|[\s":,\[])[+-]?[0-9.]+[eE]-[0-9]{4,}($|[\s",\]}])`)

// Endless reports whether a JSON text has a number that would keep its parser (as a quantity) busy for minutes, such as 1e-999999999 or a hundred thousand
// digits. Anybody who may create a Machine may write such a number.
func Endless(raw []byte) bool {
	digits := 0
	for _, b := range raw {
		if digits++; (b < '0' || b > '9') && b != '.' {
			digits = 0
		}
		if digits > MaxDigits {
			return true
		}
	}
	return likeTiny(raw) && tiny.Match(raw)
}

// likeTiny reports whether a text may match the regular expression tiny. Almost no text does, so the slow expression rarely runs: many names contain "e-", but
// few with a digit before it and four digits after it.
func likeTiny(raw []byte) bool {
	for from := 0; ; {
		i := bytes.IndexByte(raw[from:], '-')
		if i < 0 {
			return false
		}
		i += from
		from = i + 1
		if i < 2 || raw[i-1]|0x20 != 'e' || !isDigit(raw[i-2]) && raw[i-2] != '.' || len(raw) < i+5 {
			continue
		}
		if isDigit(raw[i+1]) && isDigit(raw[i+2]) && isDigit(raw[i+3]) && isDigit(raw[i+4]) {
			return true
		}
	}
}

// MaxExponent is the limit for the exponent of a quantity: far more than a quantity needs, and far less than takes long to compute.
const MaxExponent = 99

// TooVast is the message about a quantity that FindVast finds.
const TooVast = "has an exponent above 99: use a smaller quantity"

// Exponents reports whether a text contains something like a number with an exponent above MaxExponent. The hash of a commit may look like one. So the caller
// has to check whether the quantity that is parsed from the text is Vast.
func Exponents(raw []byte) bool {
	digits := -1 // how many digits follow an e that follows a digit; -1 outside of such an exponent
	for i, b := range raw {
		switch {
		case (b == 'e' || b == 'E') && i > 0 && (isDigit(raw[i-1]) || raw[i-1] == '.'):
			digits = 0
		case b == '+' && digits == 0:
		case isDigit(b) && digits >= 0:
			if digits++; digits > 2 {
				return true
			}
		default:
			digits = -1
		}
	}
	return false
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// Vast reports whether a quantity has such a large exponent, as 1e999999999 has, that comparing or writing the quantity would take minutes.
func Vast(q resource.Quantity) bool {
	scale := q.AsDec().Scale()
	return scale < -MaxExponent || scale > MaxExponent
}

// ParseQuantity parses a quantity like resource.ParseQuantity. It refuses a text that would take minutes to parse, or whose quantity would take minutes to
// compare.
func ParseQuantity(text string) (resource.Quantity, error) {
	if Exponents([]byte(text)) || Endless([]byte(text)) {
		return resource.Quantity{}, fmt.Errorf("the quantity %.40s has too many digits, or an exponent above 99", text)
	}
	return resource.ParseQuantity(text)
}

// FindVast returns the path of the first Vast quantity in a typed value. raw is the JSON from which the value was decoded.
func FindVast(raw []byte, typed any) (path string, found bool) {
	if !Exponents(raw) {
		return "", false
	}
	path, found = findVast(reflect.ValueOf(typed))
	return strings.TrimPrefix(path, "."), found
}

var quantity = reflect.TypeFor[resource.Quantity]()

func findVast(v reflect.Value) (path string, found bool) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return "", false
	}
	if v.Type() == quantity && v.CanInterface() {
		q, ok := v.Interface().(resource.Quantity)
		return "", ok && Vast(q)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if below, found := findVast(v.Field(i)); found {
				return member(v.Type().Field(i)) + below, true
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if below, found := findVast(v.Index(i)); found {
				return fmt.Sprintf("[%d]%s", i, below), true
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if below, found := findVast(v.MapIndex(key)); found {
				return fmt.Sprintf("[%v]%s", key, below), true
			}
		}
	}
	return "", false
}

func member(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return "." + name
	}
	return ""
}
