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
		for _, away := range []string{"", "Poundlock does not answer."} {
			s := survey{Away: away}
			for i := range objects {
				one := standing.Standing{Kind: "Machine", Name: fmt.Sprint("m", i), Current: "MachineAPI", Requested: "MachineAPI"}
				if i%3 == 0 {
					one.Requested, one.Reason, one.Message = "ClusterAPI", "WaitingForPause", "a sentence"
				}
				s.Objects = append(s.Objects, one)
			}
			s.Progress = ProgressOf(s.Objects)
			out := &bytes.Buffer{}
			const height = 20
			glance{Output: printers.Output{Writer: out, Height: height, Terminal: true}, now: time.Now()}.repaint(s)
			if lines := strings.Count(out.String(), "\n"); lines >= height {
				t.Errorf("%d objects: %d lines on a terminal of %d", objects, lines, height)
			}
			if objects > 0 && !strings.Contains(out.String(), "AUTHORITY") {
				t.Errorf("%d objects: no headings:\n%s", objects, out)
			}
		}
	}
}
