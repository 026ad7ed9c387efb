// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority_test

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/poundlock/poundlock/policies"
	"github.com/poundlock/poundlock/policies/authority"
)

// A mirror stays paused for a moment after its API has become authoritative. So its state agrees with a cache that lags, although the cache is wrong.
func TestACacheDecidesNoPersonsDeletion(t *testing.T) {
	parse := func(text string) *policies.Object {
		t.Helper()
		o, err := policies.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	paused := parse(`{"metadata":{"name":"a","annotations":{"cluster.x-k8s.io/paused":""},"finalizers":["` + authority.SyncFinalizer + `"]}}`)
	mirrored := parse(`{"metadata":{"name":"a","finalizers":["` + authority.SyncFinalizer + `"]},"status":{"authoritativeAPI":"ClusterAPI"}}`)
	announced := parse(`{"metadata":{"name":"a","annotations":{"cluster.x-k8s.io/paused":"authority-arrives-2"},"finalizers":["` + authority.SyncFinalizer + `"]}}`)
	before := parse(`{"metadata":{"name":"a"},"status":{"authoritativeAPI":"MachineAPI"}}`)
	for _, c := range []struct {
		it        string
		operation admissionv1.Operation
		side      policies.Side
		actor     policies.Actor
		old       *policies.Object
		want      bool
	}{
		{"an update is refused for a moment too long at worst", admissionv1.Update, policies.SideClusterAPI, policies.Anyone, paused, true},
		{"a deletion that is warned of wrongly is stored all the same", admissionv1.Delete, policies.SideClusterAPI, policies.Anyone, paused, false},
		{"on the other side the twin may be going", admissionv1.Delete, policies.SideMachineAPI, policies.Anyone, mirrored, false},
		{"a controller reads no warnings", admissionv1.Delete, policies.SideClusterAPI, policies.ClusterAPIController, paused, true},
		{"but whether a move goes on decides about what is announced", admissionv1.Delete, policies.SideClusterAPI, policies.GarbageCollector, announced, false},
	} {
		change := policies.Change{Operation: c.operation, Actor: c.actor, Old: c.old}
		change.Side = c.side
		if got := authority.CacheSuffices(change, before); got != c.want {
			t.Errorf("%s: %t, want %t", c.it, got, c.want)
		}
	}
}
