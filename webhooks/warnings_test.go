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
		"what is in brackets is not parted":    {sentence{words(47) + " (guide: Boot data)", "a/b"}, []string{words(47) + "… [a/b]", "…(guide: Boot data) [a/b]"}},
		"nor at a comma in them":               {sentence{words(44) + " (see, " + words(5) + ") " + words(9), "a/b"}, []string{words(44) + "… [a/b]", "…(see, " + words(5) + ") " + words(9) + " [a/b]"}},
		"one of three warnings":                {sentence{words(120), "a/b"}, []string{words(49) + "… [a/b]", "…" + words(49) + "… [a/b]", "…" + words(22) + " [a/b]"}},
		"a command is not parted": {sentence{words(45) + ": to move: kubectl -n a patch b c --type merge -p '{}'", "a/b"},
			[]string{words(45) + ": to move:… [a/b]", "kubectl -n a patch b c --type merge -p '{}' [a/b]"}},
		"what comes after a command is": {sentence{words(40) + ": kubectl get a b. Then " + words(10), "a/b"},
			[]string{words(40) + ": kubectl get a b. [a/b]", "Then " + words(10) + " [a/b]"}},
		"a chain of commands is not parted": {sentence{words(30) + ": kubectl get a " + words(10) + " && kubectl patch b " + words(10), "a/b"},
			[]string{words(30) + ":… [a/b]", "kubectl get a " + words(10) + " && kubectl patch b " + words(10) + " [a/b]"}},
		"a sentence is not parted where the next begins": {sentence{words(40) + ". " + words(20) + ". " + words(5), "a/b"},
			[]string{words(40) + ". [a/b]", words(20) + ". " + words(5) + " [a/b]"}},
		"a sentence is parted at a comma": {sentence{words(40) + ", " + words(20), "a/b"}, []string{words(40) + ",… [a/b]", "…" + words(20) + " [a/b]"}},
		"not where little would stand before it": {sentence{words(10) + ". " + words(10) + ", " + words(50), "a/b"},
			[]string{words(10) + ". " + words(10) + ", " + words(29) + "… [a/b]", "…" + words(21) + " [a/b]"}},
		"nor where the end would not fit": {sentence{strings.Repeat(words(30)+", ", 6) + words(16), "a/b"},
			[]string{words(30) + ", " + words(19) + "… [a/b]", "…" + words(11) + ", " + words(30) + ", " + words(8) + "… [a/b]",
				"…" + words(22) + ", " + words(27) + "… [a/b]", "…" + words(3) + ", " + words(30) + ", " + words(16) + " [a/b]"}},
		"a command longer than a warning is": {sentence{words(10) + ": kubectl " + words(60), "a/b"},
			[]string{words(10) + ":… [a/b]", "kubectl " + words(48) + "… [a/b]", "…" + words(12) + " [a/b]"}},
		"a long ID is not parted": {sentence{words(10) + " " + strings.Repeat("i", 230) + ": " + words(3), "a/b"},
			[]string{words(10) + "… [a/b]", "…" + strings.Repeat("i", 230) + ": " + words(3) + " [a/b]"}},
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
	if total > warningsRunes-otherWebhooksRunes {
		t.Errorf("%d runes in all, want at most %d", total, warningsRunes-otherWebhooksRunes)
	}
	last := len(out) - 1
	if want := fmt.Sprintf("and %d more", 100-last); out[last] != want {
		t.Errorf("the last warning is %q, want %q", out[last], want)
	}
	if !strings.HasPrefix(out[0], "000 ") || !strings.HasPrefix(out[last-1], fmt.Sprintf("%03d ", last-1)) {
		t.Errorf("the first %d are not the most important: %q … %q", last, out[0], out[last-1])
	}
}

func TestFitRepeatsNothing(t *testing.T) {
	got := fit([]sentence{{"a", "r"}, {"b", "r"}, {"a", "r"}})
	if diff := cmp.Diff([]string{"a [r]", "b [r]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
