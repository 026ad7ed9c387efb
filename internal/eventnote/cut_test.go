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

func TestJoin(t *testing.T) {
	for want, items := range map[string][]string{
		"has ":                        nil,
		"has a":                       {"a"},
		"has a, b":                    {"a", "b"},
		"has 123456789 and 2 more":    {"123456789", "123456789", "1"},
		"has 123456789, 2 and 1 more": {"123456789", "2", "3"},
		"has 123456789 1234567 9 123456789 1 …": {"123456789 1234567 9 123456789 123456789"},
		"has 1 and 2 more":                      {"1", "123456789 123456789", "3"},
	} {
		if got := eventnote.Join("has ", items, ", ", 35); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
