// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package paragraph

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Columns is the greatest length of a line.
const Columns = 160

// Wrapped returns a paragraph broken into lines between words. The first line begins with mark, such as the "- " of a list. The others are indented by its
// length.
func Wrapped(mark, text string) string {
	var b strings.Builder
	b.WriteString(mark)
	at := utf8.RuneCountInString(mark)
	for i, word := range unbroken(text) {
		wide := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+wide > Columns:
			b.WriteString("\n" + strings.Repeat(" ", len(mark)))
			at = len(mark)
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += wide
	}
	return b.String()
}

// begins matches a word that would begin a list, a heading or a quotation if it stood first in a line.
var begins = regexp.MustCompile(`^([-+*>]|#+|\d+[.)])$`)

// unbroken splits a text into the parts between which a line may be broken. A part is a word, a whole code span, or a word together with a following word that
// must not begin a line.
func unbroken(text string) []string {
	var out []string
	open := false
	for _, word := range strings.Fields(text) {
		if n := len(out); n > 0 && (open || begins.MatchString(word)) {
			out[n-1] += " " + word
		} else {
			out = append(out, word)
		}
		open = open != (strings.Count(word, "`")%2 == 1)
	}
	return out
}
