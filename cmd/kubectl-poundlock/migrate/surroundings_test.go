// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/policies/authority"
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

// Objects that wait at the end of their moves for one reason are named once.
func TestWhatHasArrivedIsNamedOnce(t *testing.T) {
	var documents []string
	for name, reason := range map[string]string{"a": "WaitingForUnpause", "b": "DeletionInProgress", "c": "DeletionInProgress", "d": "DeletionInProgress", "e": ""} {
		status := "True"
		if reason != "" {
			status = "False"
		}
		documents = append(documents, fmt.Sprintf(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine",
"metadata":{"name":%q,"namespace":"openshift-machine-api"},"spec":{"authoritativeAPI":"ClusterAPI"},"status":{"authoritativeAPI":"ClusterAPI",
"conditions":[{"type":"AuthoritySettled","status":%q,"reason":%q,"message":"message of %s"}]}}`, name, status, reason, name))
	}
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
	if err != nil || len(f.Pairs) != 5 {
		t.Fatal(err, f)
	}
	out := &bytes.Buffer{}
	m := &mover{options: &options{}, Output: printers.Output{Writer: out}}
	m.arrived(f)
	for _, want := range []string{"machine/a: Cluster API is already authoritative, and the move still waits (WaitingForUnpause)", "machine/b and 2 objects with the same reason: ",
		"migrate machine/b --to machineapi", "message of a", "message of b"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "message of c") || strings.Contains(out.String(), "machine/e") {
		t.Errorf("each object is named by itself, or one that waits for nothing:\n%s", out)
	}
}
