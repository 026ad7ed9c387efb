// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"strings"
	"testing"
)

// A note of any length is taken by an API server, and ends with what to do.
func TestTheNoteOfATroubleHasARemedy(t *testing.T) {
	for _, sentence := range []string{"reading Secret a/b: forbidden", strings.Repeat("x", 5000)} {
		if note := troubleNote(sentence); len(note) > 1024 || !strings.HasSuffix(note, "kubectl poundlock explain CertificateTrouble") || !strings.HasPrefix(note, sentence[:20]) {
			t.Errorf("%d bytes: %s", len(note), note)
		}
	}
}
