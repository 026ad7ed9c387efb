// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParts(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for name, tt := range map[string]struct {
		in   sentence
		want []string
	}{
		"a short sentence stays":               {sentence{"spec.x is odd", "a/b"}, []string{"spec.x is odd [a/b]"}},
		"without a rule there are no brackets": {sentence{"spec.x is odd", ""}, []string{"spec.x is odd"}},
		"line breaks become spaces":            {sentence{"a\nb\t c\r\n", "a/b"}, []string{"a b c [a/b]"}},
		"one that just fits":                   {sentence{words(50), "a/b"}, []string{words(50) + " [a/b]"}},
		"a long one is continued at a word":    {sentence{words(60) + ": do this", "a/b"}, []string{words(49) + "… [a/b]", "…" + words(11) + ": do this [a/b]"}},
		"a very long one is cut at a word":     {sentence{words(300), "a/b"}, []string{words(49) + "… [a/b]", "…" + words(49) + "… [a/b]", "…" + words(49) + "… [a/b]", "…" + words(49) + "… [a/b]"}},
		"one of three warnings":                {sentence{words(120), "a/b"}, []string{words(49) + "… [a/b]", "…" + words(49) + "… [a/b]", "…" + words(22) + " [a/b]"}},
		"one long word is parted where it must be": {sentence{strings.Repeat("é", 300), "a/b"},
			[]string{strings.Repeat("é", 249) + "… [a/b]", "…" + strings.Repeat("é", 51) + " [a/b]"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.in.parts(warningRunes)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, part := range got {
				if n := utf8.RuneCountInString(part); n > warningRunes {
					t.Errorf("%d runes, want at most %d", n, warningRunes)
				}
			}
		})
	}
}

func TestFitKeepsTheFirstAndCountsTheRest(t *testing.T) {
	var in []sentence
	for i := range 100 {
		in = append(in, sentence{fmt.Sprintf("%03d %s", i, strings.Repeat("é", 200)), "a/b"})
	}
	out := fit(in)
	total := 0
	for _, w := range out {
		total += utf8.RuneCountInString(w)
	}
	if total > warningsRunes-otherDoorsRunes {
		t.Errorf("%d runes in all, want at most %d", total, warningsRunes-otherDoorsRunes)
	}
	last := len(out) - 1
	if want := fmt.Sprintf("and %d more", 100-last); out[last] != want {
		t.Errorf("the last warning is %q, want %q", out[last], want)
	}
	if !strings.HasPrefix(out[0], "000 ") || !strings.HasPrefix(out[last-1], fmt.Sprintf("%03d ", last-1)) {
		t.Errorf("the first %d are not the most important: %q … %q", last, out[0], out[last-1])
	}
}

func TestFitSaysNothingTwice(t *testing.T) {
	got := fit([]sentence{{"a", "r"}, {"b", "r"}, {"a", "r"}})
	if diff := cmp.Diff([]string{"a [r]", "b [r]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
