// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/poundlock/poundlock/policies/authority"
)

// lists answers each list with one Machine, and keeps whether a copy was asked for.
type lists struct {
	client.Reader
	copied []string
}

func (l *lists) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		l.copied = append(l.copied, into.GetObjectKind().GroupVersionKind().Kind)
	}
	m := unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "m",
		"ownerReferences": []any{map[string]any{"kind": "MachineSet", "name": "set", "controller": true}}}}}
	into.(*unstructured.UnstructuredList).Items = []unstructured.Unstructured{m}
	return nil
}

// The names of a whole fleet are listed at each event of what all depends on. With a copy of each Machine that took more memory than the cache.
func TestAFleetIsListedWithoutCopies(t *testing.T) {
	kind, _ := authority.KindNamed("Machine")
	set := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "set", "namespace": "mapi"}}}
	cache := &lists{}
	r := &reconciler{kind: kind, pairs: authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}}, cache: cache}
	for what, got := range map[string]int{"everything": len(r.everything(t.Context(), nil)), "children": len(r.childrenOf(t.Context(), set))} {
		if got != 2 {
			t.Errorf("%s: %d requests, want one of each API", what, got)
		}
	}
	if len(cache.copied) > 0 {
		t.Errorf("copied: %v", cache.copied)
	}
}

// What a message asks a person to write into an infrastructure cluster object wakes the pairs that wait for it; a condition does not.
func TestInfraClusterChanged(t *testing.T) {
	object := func(patch string) *unstructured.Unstructured {
		o := map[string]any{"metadata": map[string]any{"generation": int64(1)}, "status": map[string]any{"ready": true}}
		var with map[string]any
		if err := json.Unmarshal([]byte(patch), &with); err != nil {
			t.Fatal(err)
		}
		for section, content := range with {
			for k, v := range content.(map[string]any) {
				if generation, ok := v.(float64); ok {
					v = int64(generation)
				}
				o[section].(map[string]any)[k] = v
			}
		}
		return &unstructured.Unstructured{Object: o}
	}
	for patch, want := range map[string]bool{
		`{"metadata": {"generation": 2}}`:                                                       true,
		`{"metadata": {"annotations": {"poundlock.openshift.io/vcenters": "b"}}}`:               true,
		`{"status": {"failureDomains": {"fd1": {}}}}`:                                           true,
		`{"status": {"network": {"id": "n"}}}`:                                                  true,
		`{"status": {"conditions": [{"type": "Ready"}]}}`:                                       false,
		`{"metadata": {"resourceVersion": "2"}}`:                                                false,
		`{"metadata": {"annotations": {"poundlock.openshift.io/holds-mirrors": "2 Machines"}}}`: false,
	} {
		if got := infraClusterChanged().Update(event.UpdateEvent{ObjectOld: object(`{}`), ObjectNew: object(patch)}); got != want {
			t.Errorf("%s: %v", patch, got)
		}
	}
}
