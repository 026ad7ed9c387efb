// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"bytes"
	"fmt"
	"strings"
)

// cut has a terminal leave out what does not fit into its line, and wrap has it go on in the next one.
const cut, wrap = "\x1b[?7l", "\x1b[?7h"

// Repaint overwrites what was shown before, within the terminal's height. Otherwise the top, with the headings, would scroll away. whole writes everything.
// If that is too high, within writes what matters most, in at most height lines. Tables are cut where the terminal ends.
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

// Head writes the first of a text's lines, so many that they fit into height lines of the terminal with one that counts the others.
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
		// A table that is divided here has not switched back.
		p.Linef("%s%s", wrapIf(p.cuts), p.Dim(fmt.Sprintf("and %d lines more", left)))
	}
}

func wrapIf(cuts bool) string {
	if cuts {
		return wrap
	}
	return ""
}

// lines are how many of the terminal a text takes: a line that is too long takes several, unless it is cut.
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
