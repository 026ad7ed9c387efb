// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"unicode/utf8"

	"golang.org/x/term"
)

// Output is a writer, and what it can show.
type Output struct {
	io.Writer
	// Colour reports that escape sequences may be written.
	Colour bool
	// Terminal reports that a person reads, and that written text can be overwritten.
	Terminal bool
	// Width and Height are the terminal's, 0 for none.
	Width, Height int

	// cuts reports that a table's row that is wider than the terminal is cut, and takes no second line.
	cuts bool
	// uncut reports that tables keep their full width, as with -o wide.
	uncut bool
}

// Uncut returns an output whose tables keep all their content if all is true, whatever the terminal's width is.
func (p Output) Uncut(all bool) Output {
	p.uncut = all
	return p
}

// OutputOf inspects w and the environment: NO_COLOR (https://no-color.org) and TERM=dumb switch colour off.
func OutputOf(w io.Writer, env func(string) string) Output {
	p := Output{Writer: w}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	p.Terminal = env("TERM") != "dumb"
	p.Colour = p.Terminal && env("NO_COLOR") == ""
	if width, height, err := term.GetSize(int(f.Fd())); err == nil {
		p.Width, p.Height = width, height
	}
	return p
}

// The colours. Each has one meaning: see the methods below.
const (
	green  = "32"
	yellow = "33"
	red    = "31"
	dim    = "2"
	bold   = "1"
)

func (p Output) paint(code, text string) string {
	if !p.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Green marks what is healthy.
func (p Output) Green(text string) string { return p.paint(green, text) }

// Yellow marks a warning.
func (p Output) Yellow(text string) string { return p.paint(yellow, text) }

// Red marks an error.
func (p Output) Red(text string) string { return p.paint(red, text) }

// Dim marks details that most readers skip.
func (p Output) Dim(text string) string { return p.paint(dim, text) }

// Bold marks what readers look for.
func (p Output) Bold(text string) string { return p.paint(bold, text) }

// Linef writes a line.
func (p Output) Linef(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Wide is how many columns a text takes.
func Wide(text string) int { return utf8.RuneCountInString(escapes.ReplaceAllString(text, "")) }

// Dash replaces an empty cell.
func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
