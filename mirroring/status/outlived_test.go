// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/mirroring/mirroringtest"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestAMachineSetThatOutlivesTheMachineAPIs(t *testing.T) {
	const (
		marked = `{metadata: {name: s, finalizers: [sync.machine.openshift.io/finalizer], annotations: {poundlock.openshift.io/mirror-of: MachineSet/s}}}`
		paused = `{metadata: {name: s, annotations: {poundlock.openshift.io/mirror-of: MachineSet/s, cluster.x-k8s.io/paused: "true"}}}`
		going  = `{metadata: {name: s, deletionTimestamp: "2026-11-21T17:00:00Z", finalizers: [sync.machine.openshift.io/finalizer], annotations: {poundlock.openshift.io/mirror-of: MachineSet/s}}}`
		theirs = `{metadata: {name: s}}`
		twin   = `{metadata: {name: s}, spec: {authoritativeAPI: ClusterAPI}, status: {authoritativeAPI: ClusterAPI}}`
	)
	c := Reporter{Now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	for _, row := range []struct {
		sentence, kind, core, machineAPI string
		reports                          bool
	}{
		{"the Machine API's is gone, and Cluster API's acts", "MachineSet", marked, "", true},
		{"of a Machine nothing is said: its set says it", "Machine", marked, "", false},
		{"it is paused, and goes nowhere", "MachineSet", paused, "", false},
		{"it is being deleted, too", "MachineSet", going, "", false},
		{"it was never mirrored", "MachineSet", theirs, "", false},
		{"the Machine API's is there", "MachineSet", marked, twin, false},
	} {
		s := &pairs.State{Kind: mirroringtest.Kind(t, row.kind), Name: "s", Pair: authority.Pair{MachineAPI: "m", ClusterAPI: "c"},
			Core: mirroringtest.Machine(t, row.core)}
		if row.machineAPI != "" {
			s.MachineAPI = mirroringtest.Machine(t, row.machineAPI)
		}
		w := c.Outlived(s)
		if (w != nil) != row.reports {
			t.Errorf("%s: %v", row.sentence, w)
			continue
		}
		if w == nil {
			continue
		}
		if !strings.Contains(w.Note, "kubectl -n c delete machinesets.cluster.x-k8s.io s") || !w.Warning {
			t.Errorf("%s: %+v", row.sentence, w)
		}
		s.Core.Object["status"] = w.Patch["status"]
		if again := c.Outlived(s); again != nil {
			t.Errorf("it is said twice: %v", again.Patch)
		}
		back := Found(s)
		if back == nil || len(pairs.List(pairs.Below(back.Patch, "status")["conditions"])) != 0 {
			t.Errorf("with a twin again it is not taken back: %v", back)
		}
	}
}
