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
	// Head has the three headings of the columns. A table without them is written as a paragraph for each name, and one with a row that is wider than a page as
	// a list.
	Head [3]string
	Rows []Row
}

// Row explains one name, or some that mean the same.
type Row struct {
	Names []string
	// Means and Do are Markdown on one line. Do may be empty. Do of a metric lists its labels.
	Means, Do string
}

// Entry is one explained name.
type Entry struct {
	Name, Section string
	// Means and Do are Markdown without links, as a terminal shows none.
	Means, Do string
}

// Runbooks returns the tables of runbooks.md, in its order: the reasons of conditions and of events.
func Runbooks() []Table {
	return []Table{
		authoritySettled, synchronizedFalse, nobodyLeads, outlived, notGenerated, synchronizedTrue, paused, slowMachine, noInstance, healthCheck,
		controlPlaneAuthority, controlPlaneDegraded, controlPlaneProgressing, provider, privateTypes,
	}
}

// Signals returns the tables of signals.md, in its order: conditions, events, alerts, metrics and what else has a name.
func Signals() []Table {
	return []Table{conditions, events, alerts, metrics, errorTypes, phases, authorityFields, annotations, others}
}

// Entries lists each name of the tables, in their order.
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

// Fill replaces what is between the markers of each table in a page, and leaves the rest of the page as it is. It fails if a
// table has no place in the page, or a place has no table: otherwise a section would disappear unnoticed.
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

// markdown is a table, or a list if a row is wider than a page: a terminal and a review show no table then.
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
