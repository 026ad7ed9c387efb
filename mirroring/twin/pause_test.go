// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package twin

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/policies/authority"
)

// TestTheMirrorPausesNothingThatExists: the pause annotation that the mirror wants on an object that is there already.
func TestTheMirrorPausesNothingThatExists(t *testing.T) {
	with := func(annotations map[string]string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAnnotations(annotations)
		return o
	}
	const pause, other = authority.PausedAnnotation, "example.com/a"
	for sentence, c := range map[string]struct {
		is   *unstructured.Unstructured
		want map[string]string
	}{
		"it is created paused":             {nil, map[string]string{pause: "true", other: "b"}},
		"a pause keeps its value":          {with(map[string]string{pause: ""}), map[string]string{pause: "", other: "b"}},
		"a pause that is gone is not set":  {with(map[string]string{other: "c"}), map[string]string{other: "b"}},
		"nor without any other annotation": {with(nil), map[string]string{other: "b"}},
	} {
		want := with(map[string]string{pause: "true", other: "b"})
		keepPause(want, c.is)
		if !maps.Equal(want.GetAnnotations(), c.want) {
			t.Errorf("%s: %v", sentence, want.GetAnnotations())
		}
	}
}
