// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonnumbers_test

import (
	"encoding/json"
	"testing"

	"github.com/poundlock/poundlock/internal/jsonnumbers"
)

func TestEqual(t *testing.T) {
	const odd = 1<<53 + 1
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true},
		{int32(1), 1, true},
		{json.Number("1.0"), json.Number("1"), true},
		{json.Number("1e2"), json.Number("100"), true},
		{json.Number("1.5"), 1.5, true},
		{json.Number("1"), json.Number("2"), false},
		{int64(odd), int64(odd), true},
		{int64(odd), int64(odd - 1), false},
		{json.Number("9007199254740993"), json.Number("9007199254740992"), false},
		{json.Number("9007199254740993"), int64(odd), true},
		{int64(odd - 1), float64(odd - 1), true},
		{int64(odd), float64(odd - 1), false},
		{1e300, 1e300, true},
		{json.Number("1e300"), json.Number("1e300"), true},
		{json.Number("1e300"), json.Number("10e299"), false},
		{json.Number("-9007199254740993"), json.Number("-9007199254740993.0"), false},
		{json.Number("1"), "1", false},
		{int64(0), nil, false},
		{int64(1), true, false},
		{"a", "a", true},
		{nil, nil, true},
	} {
		if got := jsonnumbers.Equal(c.a, c.b); got != c.want || jsonnumbers.Equal(c.b, c.a) != c.want {
			t.Errorf("%T %v and %T %v: %v", c.a, c.a, c.b, c.b, got)
		}
	}
}
