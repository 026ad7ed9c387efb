// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	. "github.com/poundlock/poundlock/policies/authority"
)

// TestEdition: a mark that somebody sets right before a move changes no generation, and the mirror may not have carried it over yet.
func TestEdition(t *testing.T) {
	object := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetUID("one")
		o.SetGeneration(3)
		o.SetLabels(map[string]string{"a": "b", "c": "d"})
		o.SetAnnotations(map[string]string{"a": "b"})
		if change != nil {
			change(o)
		}
		return o
	}
	annotated := func(key string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"a": "b", key: "true"}) }
	}
	former := object(nil)
	for name, c := range map[string]struct {
		change func(*unstructured.Unstructured)
		same   bool
	}{
		"as it was":                                      {nil, true},
		"somebody marks it for deletion":                 {annotated("machine.openshift.io/delete-machine"), false},
		"somebody has checks skip it":                    {annotated("cluster.x-k8s.io/skip-remediation"), false},
		"somebody labels it":                             {func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }, false},
		"somebody edits it":                              {func(o *unstructured.Unstructured) { o.SetGeneration(4) }, false},
		"it was recreated, and is in that generation":    {func(o *unstructured.Unstructured) { o.SetUID("two") }, false},
		"the handoff pauses it":                          {annotated(PausedAnnotation), true},
		"Poundlock records something":                    {annotated(InfraGenerationAnnotation), true},
		"a controller reports on it, as it does all day": {func(o *unstructured.Unstructured) { o.SetResourceVersion("9"); o.Object["status"] = "x" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := object(c.change)
			other := object(annotated("other"))
			for _, api := range []API{MachineAPI, ClusterAPI} {
				was, is := Edition(api, former, other, nil), Edition(api, now, other, nil)
				if api == ClusterAPI {
					was, is = Edition(api, other, former, nil), Edition(api, other, now, nil)
				}
				if (was == is) != c.same {
					t.Errorf("%s: the same is %t, want %t", api, was == is, c.same)
				}
			}
			if was, is := Edition(ClusterAPI, other, other, former), Edition(ClusterAPI, other, other, now); was != is &&
				former.GetUID() == now.GetUID() && former.GetGeneration() == now.GetGeneration() {
				t.Error("labels and annotations of the provider's machine are not mirrored")
			}
			if Edition(MachineAPI, other, other, former) != Edition(MachineAPI, other, other, nil) {
				t.Error("what the mirror makes is no part of what it is made from")
			}
		})
	}
	recreated := object(func(o *unstructured.Unstructured) { o.SetUID("two") })
	if Edition(ClusterAPI, former, former, former) == Edition(ClusterAPI, former, former, recreated) {
		t.Error("a provider's machine that was recreated passes for the former one")
	}
	if Edition(MachineAPI, former, former, nil) == Edition(MachineAPI, former, recreated, nil) {
		t.Error("a mirror that somebody has recreated passes for the one that was compared")
	}
	if Edition(ClusterAPI, former, former, nil) == Edition(MachineAPI, former, former, nil) {
		t.Error("a mirror that was made the other way passes for this one")
	}
	if Edition(ClusterAPI, former, nil, nil) == Edition(ClusterAPI, former, former, nil) {
		t.Error("what is absent passes for what is there")
	}
	if former.GetAnnotations()["a"] != "b" {
		t.Error("the object was changed")
	}
}
