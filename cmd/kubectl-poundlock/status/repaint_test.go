// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
)

// A watch never writes more lines than the terminal has, and the headings stay.
func TestAWatchFitsTheTerminal(t *testing.T) {
	for objects := range 40 {
		for _, away := range []string{"", "Poundlock does not answer.", strings.Repeat("Poundlock does not answer. ", 12)} {
			s := survey{Away: away}
			for i := range objects {
				one := standing.Standing{Kind: "Machine", Name: fmt.Sprint("m", i), Current: "MachineAPI", Requested: "MachineAPI"}
				if i%3 == 0 {
					one.Requested, one.Reason, one.Message = "ClusterAPI", "WaitingForPause", "kubectl -n a-namespace patch "+strings.Repeat("x", 100)
				}
				s.Objects = append(s.Objects, one)
			}
			s.Progress = ProgressOf(s.Objects)
			out := &bytes.Buffer{}
			const height, width, cut, wrap = 20, 80, "\x1b[?7l", "\x1b[?7h"
			glance{Output: printers.Output{Writer: out, Height: height, Width: width, Terminal: true}, now: time.Now()}.repaint(s)
			lines, rows := strings.Count(out.String(), "\n"), false
			for _, line := range strings.Split(strings.TrimPrefix(out.String(), "\x1b[H\x1b[J"), "\n") {
				rows = (rows || strings.Contains(line, cut)) && !strings.Contains(line, wrap)
				if line = strings.TrimPrefix(line, wrap); !rows { // a row is cut where the terminal ends
					lines += max(0, len([]rune(line))-1) / width
				}
			}
			if lines >= height {
				t.Errorf("%d objects: %d lines on a terminal of %d:\n%s", objects, lines, height, out)
			}
			if objects > 0 && !strings.Contains(out.String(), "AUTHORITY") {
				t.Errorf("%d objects: no headings:\n%s", objects, out)
			}
		}
	}
}

// A move that is cancelled goes back to the API that has the object: it has no arrow to it.
func TestAuthorityThatGoesBack(t *testing.T) {
	for want, s := range map[string]standing.Standing{
		"Machine API ⇒ Cluster API": {Origin: "MachineAPI", Current: "Migrating", Requested: "ClusterAPI"},
		"back to Machine API":       {Origin: "MachineAPI", Current: "Migrating", Requested: "MachineAPI"},
		"Machine API → Cluster API": {Current: "MachineAPI", Requested: "ClusterAPI"},
	} {
		if got := (glance{}).authority(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
