// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
)

var escape = regexp.MustCompile("\x1b\\[[?0-9;]*[a-zA-Z]")

// A watch never writes more lines than the terminal has: the set's own line stays at the top, and what does not fit is counted.
func TestAWatchFitsTheTerminal(t *testing.T) {
	for _, height := range []int{0, 8, 12, 24, 60} {
		for waits := range 30 {
			s := Standing{Name: "cluster", State: "Active", Strategy: "RollingUpdate", Replicas: 3, Generation: 1, ObservedGeneration: 1}
			for i := range 3 {
				s.Indexes = append(s.Indexes, Index{Index: i, FailureDomain: strings.Repeat("zone-", 20), Machines: []Machine{{Name: fmt.Sprint("master-", i), Phase: "Running"}}})
			}
			for i := range 10 {
				s.Conditions = append(s.Conditions, Condition{Type: fmt.Sprint("Condition", i), Status: "True", Reason: "AsExpected"})
			}
			for i := range waits {
				s.WaitsFor = append(s.WaitsFor, fmt.Sprintf("master-%d waits for %s", i, strings.Repeat("the hook EtcdQuorumOperator ", 4)))
			}
			out := &bytes.Buffer{}
			const width = 80
			roster{Output: printers.Output{Writer: out, Height: height, Width: width, Terminal: true}, now: noon}.repaint(s)
			lines, text := 0, escape.ReplaceAllString(out.String(), "")
			for line := range strings.Lines(text) {
				lines++
				if !strings.Contains(line, "   ") { // else a row of a table, which is cut
					lines += (len([]rune(strings.TrimRight(line, "\n"))) - 1) / width
				}
			}
			if height > 0 && lines >= height {
				t.Errorf("%d lines on a terminal of %d:\n%s", lines, height, text)
			}
			if !strings.HasPrefix(text, "SET ") {
				t.Errorf("the first line is not the set's:\n%s", text)
			}
			// Where AUTHORITY does not fit beside them, the counts stand below, and are not cut off.
			if head, _, _ := strings.Cut(text, "\n\n"); height != 8 && height != 12 && !regexp.MustCompile(`(?m)^REPLICAS .*UNAVAILABLE$`).MatchString(head) {
				t.Errorf("the set's counts are cut:\n%s", text)
			}
			switch more := strings.Contains(text, "lines more"); {
			case height == 0 && (more || !strings.Contains(text, "Condition9")):
				t.Errorf("without a height something is left out:\n%s", text)
			case height >= 12 && waits > 0 && !strings.Contains(text, "What the set waits for:"):
				t.Errorf("nothing says what is waited for:\n%s", text)
			case height == 8 && !more:
				t.Errorf("nothing counts what is left out:\n%s", text)
			}
		}
	}
}
