// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestObjectFromLeavesTheCachesObjectAlone(t *testing.T) {
	text := `{"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"spec":{"b":1}}`
	content := decoded(t, text)
	o, err := objectFrom(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"metadata":{"name":"a"},"spec":{"b":1}}`, string(o.Raw())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(decoded(t, text), content); diff != "" {
		t.Errorf("the cache's own object has changed (-was +is):\n%s", diff)
	}
}

func TestSeenIsReadAgainWhenItChanges(t *testing.T) {
	var s seen
	ref := Ref{Namespace: "m", Name: "a"}
	version := func(uid, version, spec string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: decoded(t, `{"metadata":{"name":"a","uid":"`+uid+`","resourceVersion":"`+version+`"},"spec":"`+spec+`"}`)}
	}
	for _, step := range []struct {
		contains string
		in       *unstructured.Unstructured
		want     string
	}{
		{"first", version("u", "1", "old"), `"old"`},
		{"the same version", version("u", "1", "not looked at"), `"old"`},
		{"another version", version("u", "2", "new"), `"new"`},
		{"another object of the name", version("v", "2", "newer"), `"newer"`},
	} {
		o, err := s.object(ref, step.in)
		if err != nil || string(o.Spec) != step.want {
			t.Errorf("%s: %s and %v, want %s", step.contains, o.Spec, err, step.want)
		}
	}
}

func TestSeenIsBounded(t *testing.T) {
	var s seen
	for i := range 3 * maxSeen {
		name := strconv.Itoa(i)
		if _, err := s.object(Ref{Name: name}, &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}); err != nil {
			t.Fatal(err)
		}
		if len(s.objects) > maxSeen {
			t.Fatalf("%d objects are kept, want at most %d", len(s.objects), maxSeen)
		}
	}
}
