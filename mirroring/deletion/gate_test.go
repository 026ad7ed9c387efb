// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// TestAMirrorDeletedWhileTheGateWasOff: the Machine API's controllers ignore authority then. What they delete of a set of Cluster API's is no user's request.
func TestAMirrorDeletedWhileTheGateWasOff(t *testing.T) {
	at := func(clock string) time.Time {
		v, err := time.Parse(time.TimeOnly, clock)
		if err != nil {
			t.Fatal(err)
		}
		return v.AddDate(2026, 0, 0)
	}
	for name, c := range map[string]struct {
		gate authority.Migration
		set  authority.API
		want authority.DeletionStep
	}{
		"it was off when the Machine was deleted":                      {authority.Migration{Since: at("12:30:00")}, authority.ClusterAPI, authority.ReleaseMirror},
		"it was turned on a minute before":                             {authority.Migration{Since: at("11:59:00")}, authority.ClusterAPI, authority.ReleaseMirror},
		"it was turned on long before":                                 {authority.Migration{Since: at("11:00:00")}, authority.ClusterAPI, authority.DeleteAuthority},
		"nobody knows when it was turned on":                           {authority.Migration{}, authority.ClusterAPI, authority.DeleteAuthority},
		"it is off":                                                    {authority.Migration{Off: true, Since: at("11:00:00")}, authority.ClusterAPI, authority.AwaitGate},
		"it was off, but the Machine API is authoritative for the set": {authority.Migration{Since: at("12:30:00")}, authority.MachineAPI, authority.DeleteAuthority},
	} {
		t.Run(name, func(t *testing.T) {
			owner := `ownerReferences: [{kind: MachineSet, name: s, uid: set, controller: true}]`
			s := &pairs.State{Kind: mirroringtest.Kind(t, "Machine"), Name: "m", Gate: c.gate,
				Parent: authority.Parent{Authority: c.set, MachineAPI: authority.Present, ClusterAPI: authority.Present},
				MachineAPI: mirroringtest.Object(t, `{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: m, deletionTimestamp: "2026-01-01T12:00:00Z",
  finalizers: [sync.machine.openshift.io/finalizer], `+owner+`}, spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`),
				Core: mirroringtest.Machine(t, `{metadata: {name: m, annotations: {poundlock.openshift.io/mirror-of: Machine/m}, `+owner+`}}`),
			}
			step := Asked(s).Next()
			if step != c.want {
				t.Fatalf("%s, want %s", step, c.want)
			}
			w := Of(s).Next(step)
			// The gate is asked about only where it matters: an API server that does not have it would otherwise hold every deletion up.
			if got, want := Of(s).Gated(), c.set == authority.ClusterAPI; got != want {
				t.Errorf("gated: %t, want %t", got, want)
			}
			if step == authority.AwaitGate && w != nil || step != authority.AwaitGate && w == nil {
				t.Fatalf("the write is %v", w)
			}
			if given := w != nil && strings.Contains(w.Note, "delete this object again"); given != (step == authority.ReleaseMirror) {
				t.Errorf("the note is %q", w.Note)
			}
		})
	}
}
