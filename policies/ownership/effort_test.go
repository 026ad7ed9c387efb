// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestManyItemsAreFoundQuickly: a list whose items have owners of their own, such as lifecycle hooks, is not searched once for each item.
func TestManyItemsAreFoundQuickly(t *testing.T) {
	const n = 10_000
	var hooks, finalizers, owners []any
	hooksOwned, finalizersOwned, ownersOwned := map[string]any{}, map[string]any{}, map[string]any{}
	for i := range n {
		name := "h" + strconv.Itoa(i)
		hooks = append(hooks, map[string]any{"name": name, "owner": "o"})
		hooksOwned[`k:{"name":"`+name+`"}`] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}, "f:owner": map[string]any{}}
		finalizers = append(finalizers, "example.com/"+name)
		finalizersOwned[`v:"example.com/`+name+`"`] = map[string]any{}
		owners = append(owners, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name})
		ownersOwned[`k:{"uid":"`+name+`"}`] = map[string]any{}
	}
	owned, err := json.Marshal(map[string]any{
		"f:metadata": map[string]any{"f:finalizers": finalizersOwned, "f:ownerReferences": ownersOwned},
		"f:spec":     map[string]any{"f:lifecycleHooks": map[string]any{"f:preDrain": hooksOwned}}})
	if err != nil {
		t.Fatal(err)
	}
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
		"metadata": map[string]any{"name": "m", "finalizers": finalizers, "ownerReferences": owners},
		"spec":     map[string]any{"lifecycleHooks": map[string]any{"preDrain": hooks}}}}
	want := live.DeepCopy()
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range []string{Manager, "other"} {
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: "machine.openshift.io/v1beta1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(owned))})
	}
	live.SetManagedFields(entries)
	for text, ask := range map[string]func(){
		"Changes":  func() { Changes(want, live) },
		"Takeover": func() { Takeover(want, live, false, nil) },
		"Added":    func() { Added("me", want, live) },
		"Yield":    func() { Yield(live) },
	} {
		began := time.Now()
		if ask(); time.Since(began) > 5*time.Second {
			t.Errorf("%s takes %v", text, time.Since(began))
		}
	}
}

// TestAnItemIsFoundByItsKeys: the index finds what a search finds.
func TestAnItemIsFoundByItsKeys(t *testing.T) {
	live := parse(t, `{apiVersion: v1, metadata: {managedFields: [{manager: `+Manager+`, operation: Apply, apiVersion: v1, fieldsV1: {'f:spec': {
		'f:hooks': {'k:{"name":"a"}': {'f:owner': {}}, 'k:{"name":"gone"}': {}, 'k:{"name":"b"}': {'f:x': {}}},
		'f:ports': {'k:{"name":"a","port":1}': {}, 'k:{"name":"a","port":2}': {}},
		'f:pairs': {'k:{"a":"x","b":"y"}': {}, 'k:{"a":"xy","b":""}': {}},
		'f:set': {'v:"a"': {}, 'v:"gone"': {}, 'v:1': {}, 'v:2': {}}}}}]}, spec: {}}`)
	want := parse(t, `{apiVersion: v1, spec: {hooks: [{name: a, owner: o}, {name: b}, {name: b, x: y}], ports: [{name: a, port: 1.0}],
		pairs: [{a: x, b: "y"}], set: [a, 1]}}`)
	got := surplus("", owned(live.GetManagedFields()[0]), want.Object)
	wanted := []string{`spec.hooks[name=b].x`, `spec.hooks[name=gone]`, `spec.pairs[a=xy,b=]`, `spec.ports[name=a,port=2]`, `spec.set["gone"]`, `spec.set[2]`}
	if diff := cmp.Diff(wanted, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Error(diff)
	}
}
