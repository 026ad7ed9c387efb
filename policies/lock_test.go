// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/poundlock/poundlock/policies"
)

func TestDifferences(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after string
		except        []string
		want          []string
		wantErr       bool
	}{
		"nothing and nothing":                       {},
		"the same text":                             {before: `{"a":1}`, after: `{"a":1}`},
		"the same in another order":                 {before: `{"a":1,"b":2}`, after: ` {"b":2, "a":1}`},
		"nothing and null":                          {after: `null`},
		"nothing and an empty object":               {after: `{}`},
		"nothing and an object that holds nothing":  {after: `{"a":{"b":[],"c":null}}`},
		"nothing and a field":                       {after: `{"a":1}`, want: []string{"spec.a"}},
		"a field and nothing":                       {before: `{"a":1}`, want: []string{"spec.a"}},
		"a deep field":                              {before: `{"a":{"b":1,"c":2}}`, after: `{"a":{"b":1,"c":3}}`, want: []string{"spec.a.c"}},
		"an item of a list":                         {before: `{"a":[{"b":1}]}`, after: `{"a":[{"b":2}]}`, want: []string{"spec.a[0].b"}},
		"lists of other lengths are one difference": {before: `{"a":[1]}`, after: `{"a":[1,2]}`, want: []string{"spec.a"}},
		"an empty list and an empty object":         {before: `{"a":[]}`, after: `{"a":{}}`},
		"an empty list and a null in a list":        {before: `{"a":[]}`, after: `{"a":[null]}`, want: []string{"spec.a"}},
		"an object and a list":                      {before: `{"a":{"b":1}}`, after: `{"a":[1]}`, want: []string{"spec.a"}},
		"an object and a text":                      {before: `{"a":{"b":1}}`, after: `{"a":"b"}`, want: []string{"spec.a"}},
		"nothing and a text without letters":        {after: `{"a":""}`, want: []string{"spec.a"}},
		"nothing and false":                         {after: `{"a":false}`, want: []string{"spec.a"}},
		"nothing and zero":                          {after: `{"a":0}`, want: []string{"spec.a"}},
		"one number, written in two ways":           {before: `{"a":1}`, after: `{"a":1.0}`},
		"one number, with an exponent":              {before: `{"a":100}`, after: `{"a":1e2}`},
		"two numbers that are one as floats":        {before: `{"a":9007199254740992}`, after: `{"a":9007199254740993}`, want: []string{"spec.a"}},
		"a number and its text":                     {before: `{"a":1}`, after: `{"a":"1"}`, want: []string{"spec.a"}},
		"a number and true":                         {before: `{"a":1}`, after: `{"a":true}`, want: []string{"spec.a"}},
		"an exception":                              {before: `{"a":1}`, after: `{"a":2}`, except: []string{"spec.a"}},
		"an exception with all beneath it":          {before: `{"a":{"b":1}}`, after: `{"a":{"b":2}}`, except: []string{"spec.a"}},
		"an exception and its neighbour":            {before: `{"a":1,"ab":1}`, after: `{"a":2,"ab":2}`, except: []string{"spec.a"}, want: []string{"spec.ab"}},
		"an exception's name elsewhere":             {before: `{"b":{"a":1}}`, after: `{"b":{"a":2}}`, except: []string{"spec.a"}, want: []string{"spec.b.a"}},
		"a key that spells an exception's path":     {before: `{"x":{}}`, after: `{"x":{"y":{"z":1}},"x.y":1}`, except: []string{"spec.x.y"}, want: []string{"spec[x.y]"}},
		"a key with a slash":                        {after: `{"a.b/c":1}`, want: []string{"spec[a.b/c]"}},
		"several, in order":                         {before: `{"c":1,"b":1,"a":1}`, after: `{}`, want: []string{"spec.a", "spec.b", "spec.c"}},
		"what is no JSON":                           {before: `{`, after: `{}`, wantErr: true},
		"what is no JSON any more":                  {before: `{}`, after: `}`, wantErr: true},
		"a text instead of an object":               {before: `{"a":1}`, after: `"x"`, want: []string{"spec"}},
	} {
		t.Run(name, func(t *testing.T) {
			diffs, err := policies.Differences(field.NewPath("spec"), json.RawMessage(tt.before), json.RawMessage(tt.after), tt.except...)
			if (err != nil) != tt.wantErr {
				t.Fatalf("error %v, want one: %t", err, tt.wantErr)
			}
			var got []string
			for _, d := range diffs {
				got = append(got, d.Path.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExactDifferences: beneath spec.x an empty object or list is a value.
func TestExactDifferences(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after string
		want          []string
	}{
		"the field itself":                         {after: `{"x":{}}`},
		"an empty object":                          {before: `{"x":{"a":1}}`, after: `{"x":{"a":1,"b":{}}}`, want: []string{"spec.x.b"}},
		"an empty object, and nothing else":        {after: `{"x":{"b":{}}}`, want: []string{"spec.x.b"}},
		"an empty object is taken away":            {before: `{"x":{"b":{}}}`, after: `{"x":{}}`, want: []string{"spec.x.b"}},
		"an empty object becomes null":             {before: `{"x":{"b":{}}}`, after: `{"x":{"b":null}}`, want: []string{"spec.x.b"}},
		"an empty list":                            {before: `{"x":{}}`, after: `{"x":{"b":[]}}`, want: []string{"spec.x.b"}},
		"an empty list becomes an empty object":    {before: `{"x":{"b":[]}}`, after: `{"x":{"b":{}}}`, want: []string{"spec.x.b"}},
		"an empty object in a list":                {before: `{"x":{"b":[null]}}`, after: `{"x":{"b":[{}]}}`, want: []string{"spec.x.b[0]"}},
		"an empty object deep in a list":           {before: `{"x":{"b":[{"c":1}]}}`, after: `{"x":{"b":[{"c":1,"d":{}}]}}`, want: []string{"spec.x.b[0].d"}},
		"an object that holds null":                {before: `{"x":{}}`, after: `{"x":{"b":{"c":null}}}`, want: []string{"spec.x.b"}},
		"an object that holds an empty one":        {before: `{"x":{}}`, after: `{"x":{"b":{"c":{}}}}`, want: []string{"spec.x.b"}},
		"an object that holds something":           {before: `{"x":{}}`, after: `{"x":{"b":{"c":1}}}`, want: []string{"spec.x.b"}},
		"null":                                     {before: `{"x":{}}`, after: `{"x":{"b":null}}`},
		"null in an object":                        {before: `{"x":{"b":{}}}`, after: `{"x":{"b":{"c":null}}}`},
		"the same":                                 {before: `{"x":{"b":{}, "c":[]}}`, after: `{"x":{"c":[],"b":{}}}`},
		"an empty object beside it":                {before: `{"x":{"a":1}}`, after: `{"x":{"a":1},"y":{},"z":{"x":{}}}`},
		"an empty object beneath what it begins":   {before: `{"xy":{"a":1}}`, after: `{"xy":{"a":1,"b":{}}}`},
		"an empty object beneath a path as a name": {before: `{"z":{"a":1}}`, after: `{"z":{"a":1,"spec.x":{"b":{}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			diffs, more, err := policies.Comparison{Exact: []string{"spec.x"}}.Differences(field.NewPath("spec"), json.RawMessage(tt.before), json.RawMessage(tt.after))
			if err != nil || more != 0 {
				t.Fatal(more, err)
			}
			var got []string
			for _, d := range diffs {
				got = append(got, d.Path.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMostDifferences: what is not named is counted.
func TestMostDifferences(t *testing.T) {
	for most, want := range map[int][2]int{0: {3, 0}, 1: {1, 2}, 2: {2, 1}, 3: {3, 0}, 4: {3, 0}} {
		named, more, err := policies.Comparison{Most: most}.Differences(field.NewPath("spec"), json.RawMessage(`{"a":1,"b":[1,2]}`),
			json.RawMessage(`{"a":2,"b":[3,4]}`))
		if err != nil || len(named) != want[0] || more != want[1] || named[0].Path.String() != "spec.a" {
			t.Errorf("at most %d: %d named, %d more, %v; want %v, from the first on", most, len(named), more, err, want)
		}
	}
}

// FuzzDifferences: a value has no difference to itself, two values differ in the same places in both directions, and what it costs to name
// ten of them grows with the values alone: 1 KiB of memory a byte.
func FuzzDifferences(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"a":[1,{"b":null}]}`, `{"a":{"b":[]}}`, `[1]`, `"x"`, `1e999`} {
		f.Add([]byte(seed), []byte(`{"a":{"b":1}}`))
	}
	deep := func(leaf string) []byte {
		return []byte(strings.Repeat(`{"b":`+leaf+`,"a":`, 3000) + leaf + strings.Repeat(`}`, 3000))
	}
	f.Add(deep("1"), deep("2"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if !json.Valid(before) || !json.Valid(after) {
			return
		}
		root := field.NewPath("spec")
		there, err := policies.Differences(root, before, after)
		if err != nil {
			t.Fatal(err)
		}
		back, err := policies.Differences(root, after, before)
		if err != nil {
			t.Fatal(err)
		}
		if len(there) != len(back) {
			t.Errorf("%d differences there, %d back: %s and %s", len(there), len(back), before, after)
		}
		var was, is runtime.MemStats
		runtime.ReadMemStats(&was)
		if _, _, err := (policies.Comparison{Most: 10}).Differences(root, before, after); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&is)
		if cost, most := is.TotalAlloc-was.TotalAlloc, uint64(64<<10+(len(before)+len(after))<<10); cost > most {
			t.Errorf("%d bytes of memory for %d and %d bytes", cost, len(before), len(after))
		}
		if self, err := policies.Differences(root, before, append([]byte(" "), before...)); err != nil || len(self) > 0 {
			t.Errorf("%s differs from itself: %v, %v", before, self, err)
		}
	})
}
