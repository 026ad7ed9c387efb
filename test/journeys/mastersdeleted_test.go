// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package journeys

import (
	"slices"
	"testing"
	"time"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/test/stories"
)

// While every Machine of the control plane is being deleted, Cluster API skips etcd's hook. Poundlock refuses the deletion of the last one. But nobody reviews
// a deletion while Poundlock is away, and deletions at the same moment do not see each other. In those cases the instances stay until etcd releases them, one
// replacement after the other.
func TestEveryMasterIsDeletedAtOnce(t *testing.T) {
	stories.Long(t)
	cpms := controlPlane(t, true)
	request(t, cpms, "ClusterAPI")
	authorityIs(t, cpms, "ClusterAPI")
	old := masters(t)
	for _, m := range old {
		if m.Status.AuthoritativeAPI != "ClusterAPI" {
			move(t, mapiMachine(m.Name), "ClusterAPI")
		}
	}
	updated(t, 3)
	books := opened()

	if err := stage.StopManager(); err != nil {
		t.Fatal(err)
	}
	for _, m := range old {
		must(t, append(capiMachine(m.Name).args("delete"), "--wait=false")...)
	}
	ends := func() bool {
		return slices.ContainsFunc(stage.Cloud.Ledger()[books.calls:], func(c machinetest.Call) bool { return c.Verb == machinetest.Terminate })
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); { // meanwhile Cluster API looks at each of them several times
		if field(t, capiMachine(old[0].Name), ".metadata.name"); ends() {
			t.Fatal("an instance was terminated while Poundlock was away")
		}
	}
	if err := stage.StartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, m := range old {
		for _, o := range []object{capiMachine(m.Name), awsMachine(m.Name), mapiMachine(m.Name)} {
			eventually(t, o.resource+" "+m.Name+" is gone", func() string { return field(t, o, ".metadata.name") }, "")
		}
	}
	updated(t, 3)
	voting(t)
	made := 0
	for _, c := range stage.Cloud.Ledger()[books.calls:] {
		switch c.Verb {
		case machinetest.Launch:
			made++
		case machinetest.Terminate:
			if made == 0 {
				t.Fatalf("the instance of %s was terminated before any replacement was there", c.Machine.Name)
			}
		}
	}
}
