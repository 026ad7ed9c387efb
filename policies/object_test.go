// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What ParseObject reads is what encoding/json would have read.
func TestParseObject(t *testing.T) {
	for name, raw := range map[string]string{
		"every member": `{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":"a","generateName":"g","namespace":"m","uid":"u",
			"resourceVersion":"7","generation":3,"creationTimestamp":null,"deletionTimestamp":"2026-01-02T03:04:05Z","labels":{"a":"b"},"annotations":{"c":"d\n"},
			"finalizers":["f"],"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"o","uid":"x","controller":true}],"managedFields":[{"manager":"m"}]},
			"spec": {"a":[1,{"b":null}]} ,"status":{"phase":"Running"},"other":1}`,
		"nothing":              `{}`,
		"nulls":                `{"metadata":null,"spec":null,"status":null,"kind":null}`,
		"nulls in metadata":    `{"metadata":{"labels":null,"finalizers":null,"name":null}}`,
		"names that are alike": `{"metadata":{"name":"a"},"specs":{"x":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var want Object
			if err := json.Unmarshal([]byte(raw), &want); err != nil {
				t.Fatal(err)
			}
			got, err := ParseObject([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, got, cmpopts.IgnoreUnexported(Object{})); diff != "" {
				t.Errorf("(-encoding/json +ParseObject):\n%s", diff)
			}
			if string(got.Raw()) != raw {
				t.Error("Raw is not what came")
			}
		})
	}
}

func TestParseObjectRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"a list": `[]`, "half an object": `{"metadata":{"name":"a"`, "metadata that is a list": `{"metadata":[]}`,
		"a label that is no text": `{"metadata":{"labels":{"a":1}}}`, "a date that is none": `{"metadata":{"deletionTimestamp":"soon"}}`,
		"a spec that is no JSON": `{"spec":{"a":}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if o, err := ParseObject([]byte(raw)); err == nil {
				t.Errorf("read as %+v", o)
			}
		})
	}
}

func TestReadingIsMadeOnce(t *testing.T) {
	o, err := ParseObject([]byte(`{"spec":{"a":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	length := func(o *Object) int { calls++; return len(o.Spec) }
	if a, b := Reading(o, length), Reading(o, length); a != len(`{"a":1}`) || b != a || calls != 1 {
		t.Errorf("%d and %d after %d calls, want one call", a, b, calls)
	}
	if text := Reading(o, func(o *Object) string { return string(o.Spec) }); text != `{"a":1}` {
		t.Errorf("another reading of the same object is %q", text)
	}
}
