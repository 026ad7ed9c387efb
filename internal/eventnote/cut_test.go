// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package eventnote_test

import (
	"testing"

	"github.com/poundlock/poundlock/internal/eventnote"
)

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "four": "four", "five5": "five …", "abc→": "abc …"} {
		if got := eventnote.Cut(text, 4); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
