// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"strings"
)

// cut makes a terminal leave out what does not fit into a line. wrap makes the terminal continue in the next line.
const cut, wrap = "\x1b[?7l", "\x1b[?7h"

// Repaint overwrites what was shown before, within the terminal's height, because the top, with the headings, would scroll away otherwise. whole writes
// everything. If that is too high, within writes what matters most, in at most height lines. Tables are cut where the terminal ends.
func (p Output) Repaint(whole func(Output), within func(paper Output, height int)) {
	text := &bytes.Buffer{}
	paper := p
	paper.Writer, paper.cuts = text, true
	whole(paper)
	if p.Height > 0 && p.lines(text.String()) >= p.Height {
		text.Reset()
		within(paper, p.Height-1)
	}
	fmt.Fprintf(p, "\x1b[H\x1b[J%s", text)
}

// Head writes the first lines of a text, as many as fit into height lines of the terminal. If lines are left out, one more line counts them.
func (p Output) Head(text string, height int) {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	shown := len(all)
	for shown > 0 && p.lines(strings.Join(all[:shown], "\n"))+1 > height-1 {
		shown--
	}
	if whole := p.lines(text); whole <= height {
		shown = len(all)
	}
	for _, line := range all[:shown] {
		p.Linef("%s", line)
	}
	if left := len(all) - shown; left > 0 {
		// If the text ends within a table, the terminal still cuts lines, so wrap is written again.
		p.Linef("%s%s", wrapIf(p.cuts), p.Dim(fmt.Sprintf("and %d lines more", left)))
	}
}

func wrapIf(cuts bool) string {
	if cuts {
		return wrap
	}
	return ""
}

// lines returns how many lines of the terminal a text takes. A line that is too long takes several, unless it is cut.
func (p Output) lines(text string) int {
	n := strings.Count(text, "\n")
	for i, part := range strings.Split(strings.ReplaceAll(text, wrap, cut), cut) {
		if cutOff := i%2 == 1; cutOff || p.Width <= 0 {
			continue
		}
		for line := range strings.SplitSeq(part, "\n") {
			n += max(0, Wide(line)-1) / p.Width
		}
	}
	return n
}
