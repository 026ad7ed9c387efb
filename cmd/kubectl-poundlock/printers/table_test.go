// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
)

// A table is no wider than its terminal. Elsewhere, and where all is asked for, it is whole.
func TestATableFitsTheTerminal(t *testing.T) {
	long := strings.Repeat("abcdefghij", 8)
	values := [][]string{{"", "FIELD", "MACHINE API", "CLUSTER API"}, {"≠", "spec.a", long, long}}
	texts := [][]string{{"OBJECT", "ANSWER", "WHY"}, {"machine/a", "no", "deviceIndex [1], filters [2]"}, {"machine/b", "yes"}, {"machine/c", "no", "x [1]"}}
	for sentence, c := range map[string]struct {
		width       int
		uncut, text bool
		rows        [][]string
		want        string
	}{
		"no terminal":      {rows: values, want: "    FIELD    MACHINE API" + strings.Repeat(" ", 72) + "CLUSTER API\n≠   spec.a   " + long + "   " + long + "\n"},
		"all of it":        {width: 40, uncut: true, rows: values, want: "    FIELD    MACHINE API" + strings.Repeat(" ", 72) + "CLUSTER API\n≠   spec.a   " + long + "   " + long + "\n"},
		"it is too wide":   {width: 43, rows: values, want: "   FIELD   MACHINE API      CLUSTER API\n≠  spec.a  abcdefg…defghij  abcdefg…defghij\n"},
		"a text beneath":   {width: 24, text: true, rows: texts, want: "OBJECT     ANSWER  WHY\nmachine/a  no\n    deviceIndex [1],\n    filters [2]\nmachine/b  yes\nmachine/c  no      x [1]\n"},
		"a text that fits": {width: 80, text: true, rows: texts, want: "OBJECT      ANSWER   WHY\nmachine/a   no       deviceIndex [1], filters [2]\nmachine/b   yes\nmachine/c   no       x [1]\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			var b bytes.Buffer
			p := printers.Output{Writer: &b, Width: c.width}.Uncut(c.uncut)
			if c.text {
				p.TableWithText(c.rows)
			} else {
				p.Table(c.rows)
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Error(diff)
			}
			for line := range strings.Lines(b.String()) {
				if c.width > 0 && !c.uncut && printers.Wide(strings.TrimSuffix(line, "\n")) > c.width {
					t.Errorf("wider than %d: %q", c.width, line)
				}
			}
		})
	}
}

func TestTwoTablesAreOneWhereTheyFit(t *testing.T) {
	for width, want := range map[int]string{0: "A     B\naaa   bbb\n", 9: "A     B\naaa   bbb\n", 8: "A    B\naaa  bbb\n", 7: "A\naaa\nB\nbbb\n"} {
		var b bytes.Buffer
		printers.Output{Writer: &b, Width: width}.Tables([][]string{{"A"}, {"aaa"}}, [][]string{{"B"}, {"bbb"}})
		if b.String() != want {
			t.Errorf("%d columns: %q, want %q", width, b.String(), want)
		}
	}
}

// A name's end distinguishes it, and a colour is no part of it.
func TestMiddle(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short", "machineset/worker-a": "machi…er-a", "\x1b[31mmachineset/worker-a\x1b[0m": "\x1b[31mmachi…er-a\x1b[0m", "ÄÖÜäöüßäöüÄ": "ÄÖÜäö…äöüÄ",
	} {
		if got := printers.Middle(text, 10); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
