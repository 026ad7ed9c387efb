// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log is appended to at each start: what an earlier start ended with is not why this one did.
func TestEndIsOfThisStartAlone(t *testing.T) {
	log := filepath.Join(t.TempDir(), "a.log")
	const earlier, now = "panic: nil map\n", "stopping, to start again\n"
	if err := os.WriteFile(log, []byte(earlier+now), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tail(end(log, int64(len(earlier)))); got != "  "+strings.TrimSpace(now) {
		t.Errorf("%q", got)
	}
	if got := tail(end(log, 0)); !strings.Contains(got, strings.TrimSpace(earlier)) {
		t.Errorf("%q of a log that this start began", got)
	}
}
