// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package notes_test

import (
	"testing"

	"github.com/poundlock/poundlock/internal/notes"
)

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "four": "four", "five5": "five …", "abc→": "abc …"} {
		if got := notes.Cut(text, 4); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
