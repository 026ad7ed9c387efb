// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"strings"
)

// Page returns a table's rows as Markdown: the counterpart of each field, what changes in the conversion, and what does not convert and why. A line about a
// field that only one API has begins with this field, because people look for it.
func Page(title, intro string, lines []Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- Generated from the conversion's table: go test ./conversion/platforms -update. Do not edit. -->\n\n# %s\n\n%s\n", title, intro)
	section(&b, "What goes both ways", "| Machine API | Cluster API | What changes |\n|---|---|---|\n", lines, Both, func(l Line) string {
		return fmt.Sprintf("| %s | %s | %s |", code(l.MachineAPI), code(l.ClusterAPI), l.Note)
	})
	section(&b, "What only Machine API has", "| Machine API | Why it cannot move |\n|---|---|\n", lines, OnlyMachineAPI, func(l Line) string {
		return fmt.Sprintf("| %s | %s |", code(l.MachineAPI), sentence(l))
	})
	section(&b, "What only Cluster API has", "| Cluster API | Why it cannot move |\n|---|---|\n", lines, OnlyClusterAPI, func(l Line) string {
		return fmt.Sprintf("| %s | %s |", code(l.ClusterAPI), sentence(l))
	})
	return b.String()
}

func section(b *strings.Builder, title, head string, lines []Line, expressible Expressible, row func(Line) string) {
	fmt.Fprintf(b, "\n## %s\n\n%s", title, head)
	for _, l := range lines {
		if l.Expressible == expressible {
			b.WriteString(row(l) + "\n")
		}
	}
}

func sentence(l Line) string {
	if l.Passes != "" {
		return l.Note + " The default, " + l.Passes + ", is accepted."
	}
	return l.Note
}

func code(paths []string) string {
	if len(paths) == 0 {
		return "–"
	}
	return "`" + strings.Join(paths, "`<br>`") + "`"
}
