// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package paragraph

import (
	"strings"
	"testing"
)

func TestWrapped(t *testing.T) {
	long := strings.Repeat("a", Columns-5)
	for sentence, c := range map[string]struct{ mark, text, want string }{
		"it fits":                          {"- ", "On: a  b", "- On: a b"},
		"it does not":                      {"- ", long + " bcd e", "- " + long + "\n  bcd e"},
		"as wide as the page":              {"", long + " bcde f", long + " bcde\nf"},
		"a code span":                      {"", long + " `b c d` e", long + "\n`b c d` e"},
		"what would begin a list":          {"", strings.Repeat("a", Columns-7) + " bcdef - g", strings.Repeat("a", Columns-7) + "\nbcdef - g"},
		"a word that is wider than a page": {"", strings.Repeat("a", Columns+1), strings.Repeat("a", Columns+1)},
	} {
		if got := Wrapped(c.mark, c.text); got != c.want {
			t.Errorf("%s: %q, want %q", sentence, got, c.want)
		}
	}
}
