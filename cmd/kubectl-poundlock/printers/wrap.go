// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers

import (
	"regexp"
	"strings"
)

// ruleID is the id of a rule, which ends a warning of Poundlock's.
var ruleID = regexp.MustCompile(`^\[[a-z]+/[a-z-]+\]$`)

// Wrap breaks a text at spaces into lines of at most width columns, each with indent before it. A width of 0, or above 120, counts as 100. Wrap breaks no
// command: a long command gets its own line of any length, without the sentence's punctuation, so that it can be copied. If several commands have semicolons
// between them, each gets its own line.
func Wrap(text, indent string, width int) string {
	if width <= 0 || width > 120 {
		width = 100
	}
	var lines []string
	line := indent
	end := func() {
		if line != indent {
			lines, line = append(lines, line), indent
		}
	}
	short := (width - Wide(indent)) / 2
	add := func(word string) {
		if Wide(line)+1+Wide(word) > width {
			end()
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	all, listed := words(text), false
	for i, word := range all {
		fits := Wide(line)+1+Wide(word) <= width
		// Each of several commands gets its own line, because some would keep the semicolon after them otherwise.
		listed = listed && isCommand(word)
		lists := strings.HasSuffix(word, ";") && isCommand(word) && i+1 < len(all) && isCommand(all[i+1])
		own := listed || lists
		listed = lists
		if !isCommand(word) || !own && (fits || Wide(word) <= short) {
			add(word)
			continue
		}
		before, command, after := unbracketed(word)
		if before != "" {
			add(before)
		}
		end()
		line += strings.TrimRight(strings.Trim(command, "`…"), ".,;:`…")
		end()
		if after != "" {
			add(after)
		}
	}
	if line != indent || len(lines) == 0 {
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// words returns the unbreakable parts of a text: its words, and whole commands with the brackets around them.
func words(text string) []string {
	var out []string
	all := strings.Fields(text)
	for i := 0; i < len(all); i++ {
		n := 1
		if beginsCommand(all, i) {
			n = commandLength(all[i:])
		}
		out = append(out, strings.Join(all[i:i+n], " "))
		i += n - 1
	}
	return out
}

// unbracketed separates from a command a bracket that opens before it, or closes after it. If brackets surround the whole command, both are left out.
func unbracketed(command string) (before, bare, after string) {
	if strings.HasPrefix(command, "(") {
		before, command = command[:1], command[1:]
	}
	if tail := len(strings.TrimRight(command, ".,;:)")); strings.Contains(command[tail:], ")") && !balanced(command) {
		command, after = command[:tail], command[tail:]
	}
	if before != "" && after != "" {
		return "", command, ""
	}
	return before, command, after
}

// isCommand reports whether a part of a text is a command: only commands contain spaces.
func isCommand(word string) bool { return strings.Contains(word, " ") }

// beginsCommand reports whether a command begins at a word. A kubectl command may begin anywhere. Any other command begins after a colon, as in messages, or
// after a semicolon, if it is not the first of several.
func beginsCommand(all []string, i int) bool {
	if i+1 >= len(all) {
		return false
	}
	return strings.TrimLeft(all[i], "(`…") == "kubectl" || i > 0 && strings.ContainsAny(all[i-1][len(all[i-1])-1:], ":;") &&
		(all[i] == "echo" || all[i] == "aws")
}

// commandLength returns how many words a command has. It ends with the text, or at a word with which a sentence continues or ends. A quoted text is one
// argument.
func commandLength(all []string) int {
	quoted := false
	for i, word := range all {
		if strings.Count(strings.ReplaceAll(word, `'\''`, ""), "'")%2 == 1 {
			quoted = !quoted
		}
		switch {
		case quoted:
		case strings.ContainsAny(word[len(word)-1:], ".,;:`"), strings.HasSuffix(word, ")") && !balanced(strings.TrimLeft(strings.Join(all[:i+1], " "), "(")):
			return i + 1
		case i+1 < len(all) && (strings.HasPrefix(all[i+1], "(") || ruleID.MatchString(all[i+1])):
			return i + 1
		}
	}
	return len(all)
}

func balanced(text string) bool {
	return strings.Count(text, "(") == strings.Count(text, ")") && !strings.HasSuffix(text, "`")
}
