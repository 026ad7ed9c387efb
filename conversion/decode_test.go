// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/poundlock/poundlock/conversion"
)

// TestNoNumberKeepsTheDecoderBusy: the parser of quantities takes minutes for some short ones.
func TestNoNumberKeepsTheDecoderBusy(t *testing.T) {
	cases := map[string]struct {
		value string
		taken bool
	}{
		"a price":                     {`"0.25"`, true},
		"a small number":              {`"1e-999"`, true},
		"a number":                    {`1e-9`, true},
		"a large number":              {`"1E99"`, true},
		"a vast number":               {`"1E999999999"`, false},
		"a vast number with a sign":   {`"-1.5e+999999"`, false},
		"128 digits":                  {`"` + strings.Repeat("9", 128) + `"`, true},
		"a tiny number":               {`"1E-999999999"`, false},
		"a tiny number, not a string": {`1e-999999999`, false},
		"a tiny number with a sign":   {`"-.5e-99999999"`, false},
		"129 digits":                  {`"` + strings.Repeat("9", 129) + `"`, false},
		"300,000 digits":              {`"0.` + strings.Repeat("9", 300000) + `"`, false},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			var into struct {
				Price *resource.Quantity `json:"price"`
				ID    string             `json:"id"`
			}
			p := conversion.NewPass(&conversion.Env{}, &conversion.Core{}, "spec")
			taken := p.Decode([]byte(`{"price": `+c.value+`, "id": "5f3d1c2e-1234-4a7e-8c5e-000012345678"}`), &into)
			if taken != c.taken || taken != (len(p.Errors()) == 0) {
				t.Errorf("taken: %t, errors: %v", taken, p.Errors().ToAggregate())
			}
			for _, e := range p.Errors() {
				if e.Field != "spec.price" {
					t.Errorf("the error is about %q", e.Field)
				}
			}
		})
	}
}

// An error without a path is about the cluster, so one about an object has a path even if the number is part of a name.
func TestADigitInANameIsNoErrorAboutTheCluster(t *testing.T) {
	for raw, want := range map[string]string{
		`{"spec": {"list": [{}, {"a": "1e-99999"}]}}`:           "spec.list[1].a",
		`{"a": {"b": [1, 1e-99999]}}`:                           "a.b[1]",
		`{"a": {"` + strings.Repeat("9", 129) + `": "x"}}`:      "spec",
		`{"a": "` + strings.Repeat(".", 129) + `", "b": "99"} `: "a",
	} {
		p := conversion.NewPass(&conversion.Env{}, &conversion.Core{}, "")
		if p.Decode([]byte(raw), &struct{}{}) || len(p.Errors()) != 1 || p.Errors()[0].Field != want {
			t.Errorf("%.60s: %v, want %s", raw, p.Errors(), want)
		}
	}
}

// The decoder names only a hundred fields that a type does not have. Those that are empty must not hide one that is not.
func TestManyEmptyFieldsHideNone(t *testing.T) {
	for _, n := range []int{50, 99, 100, 300} {
		raw := &strings.Builder{}
		for i := range n {
			fmt.Fprintf(raw, `"former%d": null, `, i)
		}
		p := conversion.NewPass(&conversion.Env{}, &conversion.Core{}, "spec")
		if !p.Decode([]byte(`{`+raw.String()+`"later": "x"}`), &struct{}{}) || len(p.Errors()) != 1 || !strings.Contains(p.Errors()[0].Detail, "remove") {
			t.Errorf("beside %d empty fields: %v", n, p.Errors())
		}
	}
}

// A manifest's author does not know Go's types.
func TestAnotherTypeIsNamedInPlainWords(t *testing.T) {
	type inner struct {
		Name string `json:"name"`
	}
	for raw, want := range map[string]string{
		`{"tags": [{"name": "a"}]}`:                "tags: is a list, and must be an object whose values are strings, KEY: VALUE",
		`{"tags": {"b": "", "a": 1}}`:              "tags[a]: is a number, and must be a string: put it in quotes",
		`{"name": true}`:                           "name: is a boolean, and must be a string: put it in quotes",
		`{"name": {"a": 1}}`:                       "name: is an object, and must be a string",
		`{"inner": "x"}`:                           "inner: is a string, and must be an object",
		`{"list": "x"}`:                            "list: is a string, and must be a list",
		`{"list": ["x"]}`:                          "list[0]: is a string, and must be an object",
		`{"list": [{}, {"name": 1}, {"name": 2}]}`: "list[1].name: is a number, and must be a string: put it in quotes",
		`{"count": "3"}`:                           "count: is a string, and must be a whole number",
		`{"count": 1.5}`:                           "count: is a number 1.5, and must be a whole number",
		`{"count": 3000000000}`:                    "count: is a number 3000000000, and must be a whole number of at most 2147483647",
		`{"share": 0.5}`:                           "share: is a number 0.5, and must be a whole number without quotes, or any number in quotes",
		`{"share": true}`:                          "share: is a boolean, and must be a whole number without quotes, or any number in quotes",
		`{"share": [1]}`:                           "share: is a list, and must be a whole number without quotes, or any number in quotes",
		`{"flag": "true"}`:                         "flag: is a string, and must be true or false, without quotes",
	} {
		into := struct {
			Tags  map[string]string  `json:"tags"`
			Name  *string            `json:"name"`
			Inner inner              `json:"inner"`
			List  []inner            `json:"list"`
			Count *int32             `json:"count"`
			Share intstr.IntOrString `json:"share"`
			Flag  bool               `json:"flag"`
		}{}
		p := conversion.NewPass(&conversion.Env{}, &conversion.Core{}, "")
		if p.Decode([]byte(raw), &into) || len(p.Errors()) != 1 {
			t.Fatalf("%s: %v", raw, p.Errors())
		}
		if e := p.Errors()[0]; e.Field+": "+e.Detail != want {
			t.Errorf("%s: %s: %s, want %s", raw, e.Field, e.Detail, want)
		}
	}
}

// encoding/json reads null into a string as nothing, so that the other spelling of the name has the value. It reads null into a pointer as nil.
func TestANullBesideAnotherSpelling(t *testing.T) {
	for raw, want := range map[string]string{
		`{"pool": null, "Pool": "x"}`:        "x",
		`{"POOL": null, "Pool": "x"}`:        "x",
		`{"pool": "y", "Pool": null}`:        "y",
		`{"pool": "y", "Pool": "x"}`:         "given twice",
		`{"inner": null, "Inner": {"a": 1}}`: "given twice",
	} {
		var into struct {
			Pool  string           `json:"pool"`
			Inner *struct{ A int } `json:"inner"`
		}
		p := conversion.NewPass(&conversion.Env{}, &conversion.Core{}, "")
		p.Decode([]byte(raw), &into)
		got := into.Pool
		for _, e := range p.Errors() {
			got = e.Detail
		}
		if got != want && !strings.Contains(got, "the field is "+want) {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
