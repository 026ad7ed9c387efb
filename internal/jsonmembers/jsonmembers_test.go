// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonmembers

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func collect(raw string) (map[string]string, error) {
	got := map[string]string{}
	err := Each([]byte(raw), func(name, value []byte) error {
		got[string(name)] = string(value)
		return nil
	})
	return got, err
}

func TestEach(t *testing.T) {
	for name, tt := range map[string]struct {
		raw  string
		want map[string]string
	}{
		"no members":               {` { } `, map[string]string{}},
		"values keep their text":   {`{"a": {"b" : [1, 2]} ,"c":-1.5e+7,"d":null}`, map[string]string{"a": `{"b" : [1, 2]}`, "c": "-1.5e+7", "d": "null"}},
		"names are decoded":        {`{"\u0061\/":"\"}"}`, map[string]string{"a/": `"\"}"`}},
		"the last of a name wins":  {`{"a":1,"a":2}`, map[string]string{"a": "2"}},
		"names are case sensitive": {`{"spec":1,"Spec":2}`, map[string]string{"spec": "1", "Spec": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := collect(tt.raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing": ``, "null": `null`, "a list": `[]`, "an open object": `{"a":1`, "a comma too many": `{"a":1,}`,
		"a leading zero": `{"a":01}`, "a bare point": `{"a":1.}`, "a line break in a string": "{\"a\":\"\n\"}",
		"an unknown escape": `{"a":"\x"}`, "half an escape": `{"a":"\u12"}`, "something behind it": `{} {}`,
		"a cut word": `{"a":tru}`, "a name that is no string": `{a:1}`, "no colon": `{"a" 1}`, "a deep well": `{"a":` + strings.Repeat("[", 20000),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := collect(raw); err == nil {
				t.Errorf("accepted as %v", got)
			}
		})
	}
}

func TestEachStopsAtTheVisitorsError(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	err := Each([]byte(`{"a":1,"b":2}`), func([]byte, []byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls and %v, want 1 and the visitor's error", calls, err)
	}
}

func TestEachCheckedNeedsNoWholeDocument(t *testing.T) {
	for _, raw := range []string{``, `{`, `{"`, `{"a"`, `{"a":`, `{"a":"`, `{"a":"\`, `{"a":}`, `{"a":]`, `{"a":[}`, `{"a":{"b":1}`, `x`, `{"a":1]`} {
		_ = EachChecked([]byte(raw), func([]byte, []byte) error { return nil }) // it returns
	}
}

// What is accepted is what encoding/json accepts, and splits the same.
func FuzzEach(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[{"b":"\u00e9"},1e9,-0.1,true,false,null]}`, ` {"a" : {} } `, `{"a":1}x`, `{"a":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := collect(raw)
		var want map[string]json.RawMessage
		wantErr := json.Unmarshal([]byte(raw), &want)
		if (err == nil) != (wantErr == nil && want != nil) {
			t.Fatalf("%q: %v, encoding/json: %v", raw, err, wantErr)
		}
		_ = EachChecked([]byte(raw), func([]byte, []byte) error { return nil }) // it returns, whatever it is given
		if err != nil {
			return
		}
		unchecked := map[string]string{}
		if err := EachChecked([]byte(raw), func(name, value []byte) error { unchecked[string(name)] = string(value); return nil }); err != nil {
			t.Fatalf("%q: not read once it is checked: %v", raw, err)
		}
		if diff := cmp.Diff(got, unchecked); diff != "" {
			t.Errorf("%q is split otherwise once it is checked:\n%s", raw, diff)
		}
		if len(got) > len(want) {
			t.Errorf("%q: %d members, encoding/json has %d", raw, len(got), len(want))
		}
		for name, value := range want {
			if v, ok := got[name]; ok && v != string(value) {
				t.Errorf("%q: %q is %q, encoding/json has %q", raw, name, v, value)
			}
		}
	})
}
