// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonnumbers

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// exact is the first integer that a float64 does not distinguish from every other integer.
const exact = 1 << 53

// Equal reports whether two scalars from decoded JSON are equal. Numbers are compared by value, in any of the types of encoding/json and of unstructured
// objects: 1.0 equals 1. Integers beyond 2^53 are compared digit by digit, because several of them have the same float64.
func Equal(a, b any) bool {
	x, xs := Integer(a)
	y, ys := Integer(b)
	if xs && ys {
		return x == y
	}
	f, fs := float(a)
	g, gs := float(b)
	if fs && gs && f == g && f < exact && f > -exact {
		return true
	}
	return reflect.DeepEqual(a, b)
}

// Integer returns the value of a number that is an integer. The second result is false for any other value.
func Integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && n >= math.MinInt64 && n < math.MaxInt64
	case json.Number:
		i, err := strconv.ParseInt(n.String(), 10, 64)
		return i, err == nil
	}
	return 0, false
}

func float(v any) (float64, bool) {
	if i, is := Integer(v); is {
		return float64(i), true
	}
	switch n := v.(type) {
	case float64:
		return n, true
	case json.Number:
		f, err := strconv.ParseFloat(n.String(), 64)
		return f, err == nil
	}
	return 0, false
}
