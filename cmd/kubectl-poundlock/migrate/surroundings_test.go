// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
)

// A plan names a Cluster that is paused, once. That Cluster API drains no Node, only a plan names to which no webhook answers.
func TestAPlanNamesWhatDecidesAboutItsMoves(t *testing.T) {
	const paused, undrained = "Cluster lock is paused", "Cluster API drains no Node"
	moves := readiness.Finding{PausedCluster: paused, Undrained: undrained}
	arrived := moves
	arrived.Readiness = readiness.There
	for sentence, c := range map[string]struct {
		dryRun            string
		plan              []PlannedMove
		paused, undrained int
	}{
		"two objects, and a client's dry run": {"client", []PlannedMove{{Finding: moves, Action: Ask}, {Finding: moves, Action: Follow}}, 1, 1},
		"a request":                           {"none", []PlannedMove{{Finding: moves, Action: Ask}}, 1, 0},
		"what cannot move has its own reason": {"client", []PlannedMove{{Finding: moves, Action: Leave}}, 0, 0},
		"what has arrived needs no warning":   {"client", []PlannedMove{{Finding: arrived, Action: Skip}}, 0, 0},
		"nothing is paused":                   {"client", []PlannedMove{{Action: Ask, Pair: inventory.Pair{Name: "a"}}}, 0, 0},
	} {
		out := &bytes.Buffer{}
		m := &mover{options: &options{dryRun: c.dryRun, format: "text"}, Output: printers.Output{Writer: out}}
		m.surroundings(c.plan)
		if strings.Count(out.String(), paused) != c.paused || strings.Count(out.String(), undrained) != c.undrained {
			t.Errorf("%s: %q", sentence, out)
		}
	}
}
