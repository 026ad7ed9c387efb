// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/internal/paragraph"
)

// Table explains the names of one section of a page.
type Table struct {
	// Section is the heading above the table, and in the output of explain.
	Section string
	// Head has the headings of the three columns. A table without headings is written as one paragraph for each name. A table with a row that is wider than a
	// page is written as a list.
	Head [3]string
	Rows []Row
}

// Row explains one name, or several names with the same meaning.
type Row struct {
	Names []string
	// Means and Do are Markdown on one line. Do may be empty. For a metric, Do lists the labels.
	Means, Do string
}

// Entry is one explained name.
type Entry struct {
	Name, Section string
	// Means and Do are Markdown without links, because a terminal shows none.
	Means, Do string
}

// Runbooks returns the tables of runbooks.md, in its order: the reasons of conditions and of events.
func Runbooks() []Table {
	return []Table{
		authoritySettled, synchronizedFalse, nobodyLeads, outlived, notGenerated, synchronizedTrue, paused, slowMachine, noInstance, healthCheck,
		controlPlaneAuthority, controlPlaneDegraded, controlPlaneProgressing, provider, privateTypes,
	}
}

// Signals returns the tables of signals.md, in its order: conditions, events, alerts, metrics and further names.
func Signals() []Table {
	return []Table{conditions, events, alerts, metrics, errorTypes, phases, authorityFields, annotations, others}
}

// Entries returns an entry for each name in the tables, in the order of the tables.
func Entries(tables []Table) []Entry {
	var out []Entry
	for _, t := range tables {
		for _, r := range t.Rows {
			for _, name := range r.Names {
				out = append(out, Entry{Name: name, Section: t.Section, Means: withoutLinks(r.Means), Do: withoutLinks(r.Do)})
			}
		}
	}
	return out
}

var link = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)

func withoutLinks(markdown string) string { return link.ReplaceAllString(markdown, "$1") }

const end = "<!-- End -->\n"

func (t Table) begin() string {
	return fmt.Sprintf("<!-- Generated from docs/meanings: %s -->\n", t.Section)
}

// Fill returns a page in which each table replaces what is between its markers. The rest of the page stays as it is. It fails if the page has no markers for a
// table, or markers without a table. Otherwise a section would disappear unnoticed.
func Fill(page string, tables []Table) (string, error) {
	if places := strings.Count(page, "<!-- Generated from docs/meanings: "); places != len(tables) {
		return "", fmt.Errorf("the page has places for %d tables, and there are %d tables", places, len(tables))
	}
	var b strings.Builder
	rest := page
	for _, t := range tables {
		before, inside, found := strings.Cut(rest, t.begin())
		_, after, closed := strings.Cut(inside, end)
		if !found || !closed {
			return "", fmt.Errorf("the page lacks the markers %q and %q, or has its tables in another order", t.begin(), end)
		}
		b.WriteString(before + t.begin() + t.markdown() + end)
		rest = after
	}
	return b.String() + rest, nil
}

// markdown returns the table as Markdown. If a row is wider than a page, it returns a list instead, because a terminal or a review would not show the table
// well.
func (t Table) markdown() string {
	var b strings.Builder
	if t.Head == [3]string{} {
		for _, r := range t.Rows {
			fmt.Fprintf(&b, "%s: %s\n", r.quoted(), r.Means)
		}
		return b.String()
	}
	fmt.Fprintf(&b, "| %s |\n|---|---|---|\n", strings.Join(t.Head[:], " | "))
	for _, r := range t.Rows {
		line := fmt.Sprintf("| %s | %s | %s |", r.quoted(), r.Means, r.Do)
		if len(line) > paragraph.Columns {
			return t.list()
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func (t Table) list() string {
	var b strings.Builder
	for _, r := range t.Rows {
		b.WriteString(paragraph.Wrapped("- ", "**"+r.quoted()+"**: "+r.Means))
		if r.Do != "" {
			b.WriteString("\\\n" + paragraph.Wrapped("  ", "*"+t.Head[2]+":* "+r.Do))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r Row) quoted() string {
	names := slices.Clone(r.Names)
	for i := range names {
		names[i] = "`" + names[i] + "`"
	}
	return strings.Join(names, ", ")
}
