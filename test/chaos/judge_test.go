// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"testing"

	"github.com/poundlock/poundlock/test/embedded"
)

// A history detects the violation that it exists for.
func TestTheHistoryFindsTwoSidesThatAct(t *testing.T) {
	const (
		machine = "/registry/machine.openshift.io/machines/m/play-0000-a"
		twin    = "/registry/cluster.x-k8s.io/machines/c/play-0000-a"
		infra   = "/registry/infrastructure.cluster.x-k8s.io/awsmachines/c/play-0000-a"
		paused  = `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`
		acting  = `{"metadata":{}}`
	)
	is := func(api string) string { return `{"status":{"authoritativeAPI":"` + api + `"}}` }
	for name, c := range map[string]struct {
		stored [][2]string
		flaws  int
	}{
		"a move in order":                       {[][2]string{{machine, is("MachineAPI")}, {twin, paused}, {machine, is("Migrating")}, {machine, is("ClusterAPI")}, {twin, acting}}, 0},
		"released before the switch":            {[][2]string{{machine, is("MachineAPI")}, {twin, paused}, {twin, acting}}, 1},
		"switched before the pause":             {[][2]string{{machine, is("ClusterAPI")}, {twin, acting}, {machine, is("MachineAPI")}, {twin, paused}}, 1},
		"the provider's object is not paused":   {[][2]string{{machine, is("MachineAPI")}, {twin, paused}, {infra, acting}}, 1},
		"what is deleted acts no longer":        {[][2]string{{twin, acting}, {twin, ""}, {machine, is("MachineAPI")}}, 0},
		"a Machine that comes after its mirror": {[][2]string{{twin, acting}, {machine, is("ClusterAPI")}}, 0},
	} {
		h := newHistory()
		for i, s := range c.stored {
			o := embedded.Stored{Key: s[0], Revision: int64(i)}
			if s[1] != "" {
				o.Value = []byte(s[1])
			}
			h.see(o)
		}
		flaws, moved := h.of(&play{name: "play-0000"})
		if len(flaws) != c.flaws || moved == 0 {
			t.Errorf("%s: %d changes of authority, flaws %q, want %d", name, moved, flaws, c.flaws)
		}
	}
}
