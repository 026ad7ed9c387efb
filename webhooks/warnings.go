// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The API server counts runes. Once all warnings of a request together pass the second number it cuts every one of
// them to the first, in the middle of a word, and drops what follows (k8s.io/apiserver, endpoints/filters/warning.go).
const (
	warningRunes  = 256
	warningsRunes = 4096
	// otherDoorsRunes is left for the warnings of the other webhooks of the same request.
	otherDoorsRunes = 512
)

// fit makes sentences, the most important first, into warnings that the API server passes on as they are: each is cut
// at a word, none is repeated, and the last one says how many are missing.
func fit(sentences []sentence) []string {
	var out []string
	seen := map[string]bool{}
	left := warningsRunes - otherDoorsRunes
	for i, s := range sentences {
		text := s.within(warningRunes)
		if seen[text] {
			continue
		}
		more := moreText(len(sentences) - i)
		if n := utf8.RuneCountInString(text); n+utf8.RuneCountInString(more) <= left {
			seen[text] = true
			out = append(out, text)
			left -= n
			continue
		}
		return append(out, more)
	}
	return out
}

func moreText(n int) string { return fmt.Sprintf("and %d more", n) }

// sentence is what a rule says, and the rule's id.
type sentence struct{ text, rule string }

// within is the sentence with its rule id in brackets, cut at a word to at most n runes; the id stays whole.
func (s sentence) within(n int) string {
	text, id := oneLine(s.text), ""
	if s.rule != "" {
		id = " [" + s.rule + "]"
	}
	room := n - utf8.RuneCountInString(id)
	if utf8.RuneCountInString(text) <= room {
		return text + id
	}
	return cut(text, room) + id
}

// cut shortens text to n runes, the last of them an ellipsis that stands where a word ended.
func cut(text string, n int) string {
	runes := []rune(text)[:n-1]
	short := string(runes)
	if i := strings.LastIndexByte(short, ' '); i > len(short)/2 {
		short = short[:i]
	}
	return strings.TrimRight(short, " ,;:") + "…"
}

// oneLine keeps a sentence a header can carry: what stands in an object may hold line breaks and control characters.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == utf8.RuneError || r == 0x7f }), " ")
}
