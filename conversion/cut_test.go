// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"testing"

	"github.com/poundlock/poundlock/conversion"
)

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "äöü": "äöü", "abcd": "ab…", "äöüß": "äö…"} {
		if got := conversion.Cut(text, 3); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}
