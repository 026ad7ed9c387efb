// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The API server's limits for warnings, in runes. Once all warnings of a request together exceed warningsRunes, the API server cuts each of them to
// warningRunes, in the middle of a word, and drops what follows (k8s.io/apiserver, endpoints/filters/warning.go).
const (
	warningRunes  = 256
	warningsRunes = 4096
	// otherWebhooksRunes is the number of runes that are left for warnings of other webhooks about the same request.
	otherWebhooksRunes = 512
	// maxParts is how many warnings one sentence may fill: the forecast of five Machines needs four.
	maxParts = 4
)

// fit returns warnings, made from sentences, that the API server does not cut. The most important sentence comes first. A long sentence continues in the next
// warning, because its end says what to do. No sentence is repeated. If some sentences do not fit, the last warning has their number.
func fit(sentences []sentence) []string {
	var out []string
	seen := map[string]bool{}
	left := warningsRunes - otherWebhooksRunes
	for i, s := range sentences {
		parts := s.parts(warningRunes)
		whole := strings.Join(parts, "\n")
		if seen[whole] {
			continue
		}
		more := moreText(len(sentences) - i)
		if runes(parts...)+runes(more) > left {
			return append(out, more)
		}
		seen[whole] = true
		out = append(out, parts...)
		left -= runes(parts...)
	}
	return out
}

func moreText(n int) string { return fmt.Sprintf("and %d more", n) }

func runes(texts ...string) int {
	n := 0
	for _, t := range texts {
		n += utf8.RuneCountInString(t)
	}
	return n
}

// sentence is the text of a rule's finding, with the id of the rule.
type sentence struct{ text, rule string }

// parts returns the sentence as up to maxParts texts of at most n runes, each with the rule's id. It splits at the end of a sentence or at a comma if the whole
// sentence fits in this way. Else it splits at a word, and if possible before a command. A sentence that is too long is cut at a word.
func (s sentence) parts(n int) []string {
	parts, whole := s.split(n, true)
	if !whole {
		parts, _ = s.split(n, false)
	}
	return parts
}

func (s sentence) split(n int, atStops bool) (parts []string, whole bool) {
	text, id := oneLine(s.text), ""
	if s.rule != "" {
		id = " [" + s.rule + "]"
	}
	room := n - runes(id)
	for runes(text) > room {
		short := text[:cut(text, room, atStops)]
		text = strings.TrimLeft(text[len(short):], " ")
		if !strings.HasSuffix(short, ".") || !atStops {
			short += "…"
			if !strings.HasPrefix(text, "kubectl ") { // a person would paste the ellipsis with the command
				text = "…" + text
			}
		}
		if parts = append(parts, short+id); len(parts) == maxParts {
			return parts, false
		}
	}
	return append(parts, text+id), true
}

// cut returns where to split a text that is longer than n runes. It splits before the last of the first n runes, because an ellipsis may need one place. A
// command that would be split moves to the rest, because people paste commands. Text in brackets that would be split moves to the rest too, if much text is
// before it.
func cut(text string, n int, atStops bool) int {
	short := string([]rune(text)[:n-1])
	if i := command(short); i > 0 {
		return i
	}
	open := len(short)
	if i := strings.LastIndex(short, " ("); i > len(short)/2 && !strings.Contains(short[i:], ")") {
		open = i
	}
	if atStops {
		for _, stop := range []string{". ", ", "} {
			if i := strings.LastIndex(short[:open], stop); i > len(short)/2 {
				return i + 1
			}
		}
	}
	i := strings.LastIndexByte(short, ' ')
	if i > len(short)/2 {
		return min(i, open)
	}
	// A long word, such as an instance's ID, is copied as a whole by users, so it moves to the rest if it fits there between two ellipses.
	if word, _, _ := strings.Cut(text[i+1:], " "); i > 0 && runes(word) <= n-2 {
		return i
	}
	return len(short)
}

// command returns where the command at the end of a text begins, together with the commands that are chained to it; 0 if the text does not end with a command.
func command(text string) int {
	i := strings.LastIndex(text, " kubectl ")
	if i < 0 || commandEnds.MatchString(text[i:]) {
		return 0
	}
	for strings.HasSuffix(text[:i], " &&") || strings.HasSuffix(text[:i], " |") {
		former := strings.LastIndex(text[:i], " kubectl ")
		if former <= 0 {
			break
		}
		i = former
	}
	return i
}

// commandEnds finds where a sentence continues after a command.
var commandEnds = regexp.MustCompile(`[.;,)] `)

// oneLine returns a sentence without line breaks and control characters, which an object's values may have, so that it fits into an HTTP header.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == utf8.RuneError || r == 0x7f }), " ")
}
