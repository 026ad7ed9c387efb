// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
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

// only is a reader of one object.
type only struct {
	client.Reader
	object *unstructured.Unstructured
}

func (r only) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	r.object.DeepCopyInto(into.(*unstructured.Unstructured))
	return nil
}

// TestALookedUpFormerMirrorIsKnown: cleanup has removed the mark of a mirror without an instance. Only the managed fields show that Poundlock paused it. A review
// must judge it as the mirror and the handoff do, which read whole objects.
func TestALookedUpFormerMirrorIsKnown(t *testing.T) {
	const paused = "cluster.x-k8s.io/paused"
	machineAPI, err := objectFrom(decoded(t, `{"kind":"Machine","metadata":{"name":"a","namespace":"m"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for manager, want := range map[string]authority.Foreign{
		"poundlock-mirror": authority.NotForeign, "poundlock-handoff": authority.NotForeign, "kubectl-annotate": authority.ForeignBegun,
	} {
		for _, ref := range []Ref{
			{GroupVersionKind: coreKind(policies.SideClusterAPI, "Machine"), Namespace: "c", Name: "a"},
			{GroupVersionKind: schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "AWSMachine"}, Namespace: "c", Name: "a"},
		} {
			u := &unstructured.Unstructured{Object: decoded(t, `{"metadata":{"name":"a","namespace":"c","annotations":{"`+paused+`":""},
				"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","name":"a","uid":"u"}],"managedFields":[
				{"manager":"other","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:note":{}}}}},
				{"manager":"`+manager+`","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:`+paused+`":{},"f:more":{}}},"f:spec":{}}}]}}`)}
			u.SetGroupVersionKind(ref.GroupVersionKind)
			m, err := newMetrics(prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			reader := clientReader{Reader: only{object: u}, timeout: time.Second, source: "live", metrics: m}
			o, err := reader.Get(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			if got := authority.ForeignTo(authority.Kind{Name: "Machine"}, machineAPI, o); got != want {
				t.Errorf("%s of %s is %q, want %q: %s", ref.Kind, manager, got, want, o.Raw())
			}
			if raw := string(o.Raw()); strings.Contains(raw, "other") || strings.Contains(raw, "f:spec") || strings.Contains(raw, "f:more") {
				t.Errorf("managed fields that no rule reads are left: %s", raw)
			}
		}
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
