// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	_ "embed"
	"regexp"
	"strings"
)

var (
	//go:embed runbooks.md
	runbooks string
	//go:embed signals.md
	signals string
)

// Reason is a reason of a condition or an event, from the runbooks. They are the one place that explains it.
type Reason struct {
	Name string
	// Section is the runbooks' heading above it: "AuthoritySettled is False".
	Section string
	// Means and Do are Markdown without links; Do may be empty.
	Means, Do string
}

var (
	row             = regexp.MustCompile("^\\| (`[A-Za-z][A-Za-z0-9_./-]*`(?:, `[A-Za-z][A-Za-z0-9_./-]*`)*) \\| (.*) \\|$")
	reasonParagraph = regexp.MustCompile("^`([A-Z][A-Za-z]+)`: (.*)$")
	link            = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
)

// Reasons lists the reasons that the runbooks explain: a row of a table (one or more reasons, meaning, what to do), or a paragraph that begins
// with the reason and a colon.
func Reasons() []Reason { return reasonsIn(runbooks) }

// Signals lists what else Poundlock prints: conditions, events, alerts and metrics, by the section that explains them.
func Signals() []Reason { return reasonsIn(signals) }

func reasonsIn(text string) []Reason {
	var out []Reason
	section, open := "", false
	for _, line := range strings.Split(link.ReplaceAllString(text, "$1"), "\n") {
		if title, is := strings.CutPrefix(line, "## "); is {
			section, open = title, false
			continue
		}
		if m := row.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[2], "what it ") { // that is a heading
			means, do, _ := strings.Cut(m[2], " | ")
			for _, name := range strings.Split(m[1], ", ") {
				out = append(out, Reason{Name: strings.Trim(name, "`"), Section: section, Means: means, Do: do})
			}
			continue
		}
		if m := reasonParagraph.FindStringSubmatch(line); m != nil {
			out, open = append(out, Reason{Name: m[1], Section: section, Means: m[2]}), true
			continue
		}
		if open = open && line != ""; open { // a paragraph goes on
			out[len(out)-1].Means += " " + line
		}
	}
	return out
}
