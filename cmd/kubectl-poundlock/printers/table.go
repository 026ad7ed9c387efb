// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"slices"
	"strings"
)

// Table writes rows with aligned columns; the first row is the heading. A row with fewer cells ends early. Trailing spaces are not written. On a terminal that
// is narrower than the table, long cells lose their middle. If the output is no terminal, cells stay whole.
func (p Output) Table(rows [][]string) { p.table(rows, false) }

// TableWithText writes a table whose rows end with a text. A text that does not fit beside the other cells is wrapped below its row, and loses nothing.
func (p Output) TableWithText(rows [][]string) { p.table(rows, !p.cuts) }

// Tables writes two tables with equally many rows side by side, as one table. On a terminal that is too narrow for that, it writes one below the other, unless
// the output is repainted and the terminal has few lines.
func (p Output) Tables(left, right [][]string) {
	var both [][]string
	for i, row := range left {
		both = append(both, slices.Concat(row, right[i]))
	}
	if widths := widthsOf(both); p.cuts && p.low() || p.fits(widths, gap) || p.fits(widths, narrowGap) {
		p.Table(both)
		return
	}
	p.Table(left)
	p.Table(right)
}

// gap is the number of spaces between columns, as in kubectl's tables. narrowGap is the number in a table that is too wide.
const gap, narrowGap = 3, 2

func (p Output) table(rows [][]string, text bool) {
	widths, between := widthsOf(rows), gap
	if !p.fits(widths, between) {
		between = narrowGap
		columns := len(widths)
		if text {
			columns--
		}
		p.shrink(widths[:columns], between)
	}
	if p.cuts {
		fmt.Fprint(p, cut)
		defer fmt.Fprint(p, wrap)
	}
	for _, row := range rows {
		line, rest := p.line(row, widths, between, text)
		fmt.Fprintln(p, line)
		if rest != "" {
			fmt.Fprintln(p, Wrap(rest, beneath, p.Width))
		}
	}
}

// beneath is the indent of a text that is below its row.
const beneath = "    "

// line returns a row. rest is the row's last cell, if it is a text that does not fit into the row.
func (p Output) line(row []string, widths []int, between int, text bool) (line, rest string) {
	var b strings.Builder
	for i, cell := range row {
		last := i == len(widths)-1
		if last && text && p.bounded() && Wide(b.String())+Wide(cell) > p.Width {
			rest = cell
			break
		}
		if !last || !text {
			cell = Middle(cell, widths[i])
		}
		b.WriteString(cell)
		if !last {
			b.WriteString(strings.Repeat(" ", widths[i]-Wide(cell)+between))
		}
	}
	return strings.TrimRight(b.String(), " "), rest
}

func widthsOf(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Wide(cell))
		}
	}
	return widths
}

// bounded reports whether a table must not be wider than the terminal.
func (p Output) bounded() bool { return p.Width > 0 && !p.uncut }

// low reports whether the terminal has fewer than 16 lines. Then a wide table stays one table and loses its last columns, because two tables below each other
// would need more lines.
func (p Output) low() bool { return p.Height > 0 && p.Height < 16 }

func (p Output) fits(widths []int, between int) bool {
	return !p.bounded() || len(widths) == 0 || sum(widths)+between*(len(widths)-1) <= p.Width
}

func sum(all []int) int {
	n := 0
	for _, one := range all {
		n += one
	}
	return n
}

// narrowest is the width below which a column is not shrunk. narrowestName is this width for the first column, which names the object and is shrunk last.
const narrowest, narrowestName = 12, 24

// shrink makes the widest columns narrower until all fit, or are as narrow as they may be.
func (p Output) shrink(widths []int, between int) {
	widest := func(from, floor int) int {
		at := -1
		for i := from; i < len(widths); i++ {
			if widths[i] > floor && (at < 0 || widths[i] > widths[at]) {
				at = i
			}
		}
		return at
	}
	for !p.fits(widths, between) {
		at := widest(1, narrowest)
		if at < 0 {
			at = widest(0, narrowestName)
		}
		if at < 0 {
			return
		}
		widths[at]--
	}
}

// Middle shortens a text to a width by an ellipsis in its middle, because names differ at their ends. Colours stay.
func Middle(text string, width int) string {
	if Wide(text) <= width || width < 1 {
		return text
	}
	bare := []rune(escapes.ReplaceAllString(text, ""))
	tail := (width - 1) / 2
	short := string(bare[:width-1-tail]) + "…" + string(bare[len(bare)-tail:])
	codes := escapes.FindAllString(text, -1)
	if len(codes) < 2 {
		return short
	}
	return codes[0] + short + codes[len(codes)-1]
}
