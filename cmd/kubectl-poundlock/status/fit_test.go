// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/status"
)

func TestFit(t *testing.T) {
	var all []standing.Standing
	for _, name := range []string{"a", "b", "c", "d"} {
		s := standing.Standing{Name: name}
		if name == "d" {
			s.Reason = "WaitingForPause"
		}
		all = append(all, s)
	}
	for rows, want := range map[int]string{9: "a b c d", 4: "a b c d", 3: "a b d", 1: "d", 0: "", -1: ""} {
		shown, left := status.Fit(all, rows)
		var names []string
		for _, s := range shown {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != want || left != len(all)-len(shown) {
			t.Errorf("%d rows: %q and %d more, want %q", rows, got, left, want)
		}
	}
}
