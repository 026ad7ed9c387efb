// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package paragraph

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Columns is how wide a page is.
const Columns = 160

// Wrapped breaks a paragraph between words. A mark stands before its first line, as "- " of a list, and the others are indented below it.
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

// begins is a word that would begin a list, a heading or a quotation if it were the first one of a line.
var begins = regexp.MustCompile(`^([-+*>]|#+|\d+[.)])$`)

// unbroken are the words of a text. A code span is one word, and so is a word with one after it that must not begin a line.
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
