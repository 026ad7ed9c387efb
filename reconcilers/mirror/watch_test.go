// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/poundlock/poundlock/policies/authority"
)

// A pair that waits because a Machine of another name refers to the infrastructure machine that its mirror needs is woken by a change of that Machine.
// No pair of another kind is.
func TestAReferenceWakesThePairOfThatName(t *testing.T) {
	for kind, wakes := range map[string]bool{"Machine": true, "MachineSet": false, "MachineHealthCheck": false} {
		k, _ := authority.KindNamed(kind)
		machines, _ := authority.KindNamed("Machine")
		r := &reconciler{kind: k}
		r.facts.Pairs = authority.Pairs{{MachineAPI: "mapi", ClusterAPI: "capi"}}
		foo := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"infrastructureRef": map[string]any{"kind": "AWSMachine", "name": "bar"}}}}
		foo.SetGroupVersionKind(machines.ClusterAPIGVK())
		foo.SetNamespace("capi")
		foo.SetName("foo")
		woken := map[string]bool{}
		for _, w := range r.known() {
			if w.kind != machines.ClusterAPIGVK() {
				continue
			}
			if w.only != nil {
				t.Errorf("%s: only some changes of a Machine are seen", kind)
			}
			for _, request := range w.to(t.Context(), foo) {
				woken[request.String()] = true
			}
		}
		if woken["mapi/bar"] != wakes || woken["mapi/foo"] != wakes {
			t.Errorf("%s: a Machine foo that refers to bar wakes %v", kind, woken)
		}
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
