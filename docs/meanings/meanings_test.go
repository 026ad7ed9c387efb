// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package meanings

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A row may explain several names.
func TestARowOfSeveralReasons(t *testing.T) {
	got := Entries([]Table{{Section: "Events", Rows: []Row{
		{Names: []string{"A", "B"}, Means: "means", Do: "do"}, {Names: []string{"C"}, Means: "see [x](y.md)", Do: "nothing"},
	}}})
	if len(got) != 3 || got[1].Name != "B" || got[1].Means != "means" || got[1].Do != "do" || got[2].Section != "Events" || got[2].Means != "see x" {
		t.Errorf("%+v", got)
	}
}

func TestFill(t *testing.T) {
	a := Table{Section: "A", Head: [3]string{"reason", "means", "do"}, Rows: []Row{{Names: []string{"X", "Y"}, Means: "m", Do: "d"}}}
	b := Table{Section: "B", Rows: []Row{{Names: []string{"Z"}, Means: "m"}}}
	const places = "# A\n\n<!-- Generated from docs/meanings: A -->\nold\n<!-- End -->\n\nprose\n\n<!-- Generated from docs/meanings: B -->\n<!-- End -->\nend\n"
	for name, c := range map[string]struct {
		page   string
		tables []Table
		want   string
	}{
		"each table in its place, and prose as it is": {places, []Table{a, b}, "# A\n\n<!-- Generated from docs/meanings: A -->\n" +
			"| reason | means | do |\n|---|---|---|\n| `X`, `Y` | m | d |\n<!-- End -->\n\nprose\n\n" +
			"<!-- Generated from docs/meanings: B -->\n`Z`: m\n<!-- End -->\nend\n"},
		"a place without a table":   {places, []Table{a}, ""},
		"a table without a place":   {"", []Table{a}, ""},
		"a table twice":             {places, []Table{a, a}, ""},
		"a place that does not end": {strings.TrimSuffix(places, "<!-- End -->\nend\n"), []Table{a, b}, ""},
	} {
		got, err := Fill(c.page, c.tables)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// Code is copied: it stays on one line, whatever its length.
func TestAWideTableIsAList(t *testing.T) {
	long := strings.Repeat("word ", 30) + "`kubectl get machines -o yaml` " + strings.Repeat("word ", 5) + "end"
	got := Table{Head: [3]string{"reason", "means", "what to do"}, Rows: []Row{{Names: []string{"X", "Y"}, Means: long, Do: "d"}, {Names: []string{"Z"}, Means: "m"}}}.markdown()
	want := "- **`X`, `Y`**: " + strings.Repeat("word ", 28) + "word\n  word `kubectl get machines -o yaml` " + strings.Repeat("word ", 5) + "end\\\n" +
		"  *what to do:* d\n- **`Z`**: m\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A person who asks explain for one name sees one row: there is nothing above it, and nothing below.
func TestNoRowRefersToItsPlaceOnAPage(t *testing.T) {
	place := regexp.MustCompile(`(?i)\b(above|below)\b`)
	for _, e := range Entries(append(Runbooks(), Signals()...)) {
		if found := place.FindString(e.Means + " " + e.Do); found != "" {
			t.Errorf("%s of %q refers to what is %s: write the thing itself", e.Name, e.Section, found)
		}
	}
}

// A person who asks explain for one name does not see the heading of its table. A row that begins with "of a Machine:" or "an annotation of" has no verb.
func TestEveryRowIsASentence(t *testing.T) {
	fragment := regexp.MustCompile(`^(of|(an?|the) (annotation|label|finalizer|value) (of|on) an?) `)
	for _, e := range Entries(append(Runbooks(), Signals()...)) {
		if fragment.MatchString(e.Means) {
			t.Errorf("%s of %q begins with %q: write a sentence with a subject and a verb", e.Name, e.Section, strings.Join(strings.Fields(e.Means)[:3], " "))
		}
	}
}

// A cell that breaks its table, or a section that the page does not have, would not be seen in the output of explain.
func TestEveryRowFitsItsPage(t *testing.T) {
	for page, tables := range map[string][]Table{"../runbooks.md": Runbooks(), "../signals.md": Signals()} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			// The table stands below its heading, before the next.
			_, section, _ := strings.Cut(string(raw), "\n## "+table.Section+"\n")
			section, _, _ = strings.Cut(section, "\n## ")
			if !strings.Contains(section, table.begin()) {
				t.Errorf("%s has no section %q with this table", page, table.Section)
			}
			for _, r := range table.Rows {
				if len(r.Names) == 0 || slices.Contains(r.Names, "") || r.Means == "" || strings.ContainsAny(r.Means+r.Do, "\n|") {
					t.Errorf("%s: the row of %q leaves something out, or its cells break the table", table.Section, r.Names)
				}
			}
		}
	}
}
