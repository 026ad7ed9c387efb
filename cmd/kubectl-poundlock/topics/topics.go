// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package topics

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/conversion/core"
	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/docs"
	"github.com/poundlock/poundlock/docs/meanings"
	"github.com/poundlock/poundlock/internal/spelling"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/controlplane/admission"
)

// Topic is an explained word.
type Topic struct {
	// Name is the word: a rule's id, a reason, a condition, an event, an alert, a metric, the path of a field.
	Name string `json:"name"`
	// About is its kind: "rule of admission", "reason (AuthoritySettled is False)", "field of AWS's providerSpec".
	About string `json:"about"`
	// Parts are the explanation.
	Parts []Part `json:"parts"`

	kind  kind
	paths []string
	// ofProvider reports that the topic is a field of a providerSpec or of an infrastructure machine.
	ofProvider bool
}

// Part is a paragraph with its heading, which may be empty.
type Part struct {
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text"`
}

type kind int

const (
	rule kind = iota
	reason
	field
)

// Catalog is all topics.
type Catalog []Topic

// Topics returns all topics.
func Topics() Catalog {
	return slices.Concat(rules(), reasons(), readinesses(), signals(), writers(), fields())
}

// readinesses returns topics for the words of the plugin's own tables.
func readinesses() []Topic {
	out := []Topic{reasonTopic(standing.ReasonRequested, "reason of kubectl poundlock status",
		"the other API was requested, and Poundlock has not reconciled the object since",
		"if this reason stays, check that Poundlock runs: if Poundlock does not answer, the first line of `kubectl poundlock status` reports that"),
		reasonTopic(standing.ReasonDeletionPaused, "reason of kubectl poundlock status",
			"the object exists only in Cluster API, is paused and is being deleted. Cluster API ignores paused objects, so the deletion does not end",
			"run the commands in the message, in their order. The first command gives the infrastructure machine the provider's finalizer. If an object is "+
				"unpaused before that, the instance keeps running"),
		reasonTopic(standing.ReasonDeletionNotBegun, "reason of kubectl poundlock status",
			"a Machine of Cluster API is being deleted, but the condition Deleting does not show that: "+
				"Cluster API's controller does not run, or fails before it begins",
			"read the log of Cluster API's controller: look for the Machine's name")}
	for _, v := range readiness.Meanings() {
		out = append(out, reasonTopic(v.Name, "verdict of kubectl poundlock check", v.Means, v.Do))
		if answer := readiness.Answers()[readiness.Readiness(v.Name)]; answer != "" {
			means, _, _ := strings.Cut(v.Means, ". In the table, the answer is")
			out = append(out, reasonTopic(answer, "answer of kubectl poundlock check", means+". In `-o json` the verdict is `"+v.Name+"`", v.Do))
		}
	}
	for _, w := range readiness.PlanMeanings() {
		out = append(out, reasonTopic(w.Name, "word of a plan of kubectl poundlock migrate", w.Means, w.Do))
	}
	const notion = "word of Poundlock's"
	return append(out,
		reasonTopic("mirror", notion, "the object of the API that is not authoritative. Poundlock keeps the mirror equal to the authoritative object, and paused",
			"change the authoritative object: admission refuses changes of a mirror's spec. `kubectl poundlock diff KIND/NAME` compares the two objects"),
		reasonTopic("twin", notion, "the object of the same name and kind in the other API. One of the two is authoritative, and the other is its mirror",
			"if there is no twin, `kubectl poundlock check KIND/NAME` shows the reason"),
		reasonTopic("being deleted", notion, "the object has a metadata.deletionTimestamp, and finalizers that its controllers have yet to remove",
			"wait. `kubectl poundlock status` shows what the deletion waits for; if it does not end, see the runbook *A deletion does not end*"))
}

// signals returns topics for the conditions, events, alerts and metrics.
func signals() []Topic {
	var out []Topic
	for _, s := range meanings.Entries(meanings.Signals()) {
		about := strings.ToLower(strings.TrimSuffix(s.Section, "s"))
		t := reasonTopic(s.Name, about, s.Means, s.Do)
		switch s.Section {
		case "Metrics":
			t.Parts = []Part{{"What it measures", s.Means}, {"Labels", s.Do}}
		case meanings.FieldsSection:
			t.About, t.kind, t.paths = "field of a Machine API object", field, []string{s.Name}
			if strings.HasPrefix(s.Name, "metadata.") {
				t.About = "field of an object of either API"
			}
		case meanings.OthersSection:
			t.About, t.Parts = "name of others", []Part{{"What it is", s.Means}, {"What Poundlock does with it", s.Do}}
		}
		out = append(out, t)
	}
	return out
}

func rules() []Topic {
	var out []Topic
	for _, r := range slices.Concat(authority.Rules(), admission.Rules()) {
		parts := []Part{{"", r.Description}, {"On", docs.Scopes(r.On)}, {"What to do", r.Remedy}, {"Source", r.Clause}}
		if i := slices.IndexFunc(out, func(t Topic) bool { return t.Name == r.ID }); i >= 0 {
			out[i].Parts = append(out[i].Parts, parts...)
			continue
		}
		out = append(out, Topic{Name: r.ID, About: "rule of admission", Parts: parts})
	}
	for _, d := range authority.Defaulters() {
		out = append(out, Topic{Name: d.ID, About: "what admission fills in", Parts: []Part{{"", d.Description}, {"On", docs.Scopes(d.On)}, {"Source", d.Clause}}})
	}
	return out
}

func reasons() []Topic {
	var out []Topic
	for _, r := range meanings.Entries(meanings.Runbooks()) {
		out = append(out, reasonTopic(r.Name, "reason: "+r.Section, r.Means, r.Do))
	}
	for _, r := range readiness.Reasons() {
		out = append(out, reasonTopic(r.Name, "reason of kubectl poundlock check", r.Means, r.Do))
	}
	return out
}

// ReasonNames returns the reasons that a condition, an event or check may have.
func ReasonNames() []string {
	var out []string
	for _, t := range reasons() {
		out = append(out, t.Name)
	}
	return out
}

func reasonTopic(name, about, means, do string) Topic {
	t := Topic{Name: name, About: about, Parts: []Part{{"What it means", means}}, kind: reason}
	if do != "" {
		t.Parts = append(t.Parts, Part{"What to do", do})
	}
	return t
}

func fields() []Topic {
	out := slices.Concat(
		table("Machine or MachineSet", core.MachineSets.Lines()),
		table("MachineHealthCheck", core.MachineHealthChecks.Lines()),
	)
	for _, p := range platforms.List() {
		rows := table(p.ProviderSpec.Kind+" and "+p.InfraMachine.Kind+" ("+p.Name+")", p.Spec.Lines())
		for i := range rows {
			rows[i].ofProvider = true
		}
		out = append(out, rows...)
	}
	return out
}

func table(of string, lines []conversion.Line) []Topic {
	var out []Topic
	for _, l := range lines {
		paths := slices.Concat(l.MachineAPI, l.ClusterAPI)
		if len(paths) == 0 {
			continue
		}
		out = append(out, Topic{Name: paths[0], About: "field of " + of, Parts: line(l), kind: field, paths: paths})
	}
	return out
}

func line(l conversion.Line) []Part {
	switch l.Expressible {
	case conversion.OnlyMachineAPI:
		return only("Machine API", "Cluster API", l)
	case conversion.OnlyClusterAPI:
		return only("Cluster API", "Machine API", l)
	}
	parts := []Part{{"Machine API", list(l.MachineAPI)}, {"Cluster API", list(l.ClusterAPI)}}
	if l.Note != "" {
		parts = append(parts, Part{"What changes", l.Note})
	}
	return parts
}

// only returns the explanation of a field that only one API (api) has.
func only(api, other string, l conversion.Line) []Part {
	text := "Only " + api + " has this field. "
	if l.Passes != "" {
		text += "An object with another value than " + l.Passes + " cannot move to " + other + "."
	} else {
		text += "An object with another value than zero or empty cannot move to " + other + "."
	}
	return []Part{{"", text}, {"Why it cannot move", l.Note}}
}

func list(paths []string) string {
	if len(paths) == 0 {
		return "nothing"
	}
	return strings.Join(paths, ", ")
}

// Find returns the topics for a word: those with that name, or else the fields whose path ends in the word or is below it. It is empty if there are none. The
// metadata of an object are not the metadata in a providerSpec. Find returns a field of one of the two for a word about the other only if nothing else matches,
// because `check` leaves out the path to the providerSpec.
func (c Catalog) Find(asked string) []Topic {
	whole := unbracketed(asked)
	asked = normal(asked)
	if strings.Trim(asked, ".*/") == "" {
		return nil
	}
	metadata, inProvider := strings.HasPrefix(strings.ToLower(asked), "metadata"), asked != whole
	found := map[match][]Topic{}
	for _, t := range c {
		m := t.matches(asked)
		if m != not && metadata && t.kind == field && t.ofProvider != inProvider {
			m = hardly
		}
		found[m] = append(found[m], t)
	}
	for _, m := range []match{exactly, nearly, hardly} {
		if len(found[m]) > 0 {
			return found[m]
		}
	}
	return nil
}

type match int

const (
	not match = iota
	hardly
	nearly
	exactly
)

var (
	index = regexp.MustCompile(`\[[^\]]*\]`)
	// ways finds the path to a providerSpec or to an infrastructure machine's spec, in any case, because the Machine API's decoders accept names in any case.
	ways = regexp.MustCompile(`(?i)(^|\.)providerSpec\.value\.|MachineTemplate\.spec\.template\.spec\.|Machine\.spec\.`)
)

// normal returns a word without what differs between objects: indexes, and the path to the providerSpec or to the infrastructure machine's spec. It also
// removes the brackets around a rule's id in a message.
func normal(asked string) string {
	asked = unbracketed(asked)
	if way := ways.FindStringIndex(asked); way != nil && asked[way[1]:] != "" {
		return asked[way[1]:]
	}
	return asked
}

// unbracketed returns a word without indexes, and without the brackets around a rule's id.
func unbracketed(asked string) string {
	asked = strings.TrimSpace(asked)
	if strings.HasPrefix(asked, "[") && strings.HasSuffix(asked, "]") {
		asked = asked[1 : len(asked)-1]
	}
	return index.ReplaceAllString(asked, "[]")
}

func (t Topic) matches(asked string) match {
	if t.kind != field {
		_, short, _ := strings.Cut(t.Name, "/")
		below, all := strings.CutSuffix(t.Name, meanings.AnyBelow)
		switch {
		case all && strings.HasPrefix(asked, below+"/"):
			return exactly
		case strings.EqualFold(t.Name, asked) || short != "" && strings.EqualFold(short, asked):
			return exactly
		}
		return not
	}
	best := not
	for _, p := range t.paths {
		best = max(best, pathMatches(p, asked))
	}
	return best
}

// pathMatches returns how well a word matches a field's path. It ignores the brackets of lists, because people leave them out. A Machine's field also matches
// the field in a set's template, because messages name the Machine's field.
func pathMatches(path, asked string) match {
	path, asked = plain(path), plain(asked)
	below, whole := strings.CutSuffix(path, ".*")
	switch {
	case path == asked, path == "spec.template."+asked:
		return exactly
	case whole && (asked == below || strings.HasPrefix(asked, below+".")):
		return exactly
	case strings.HasSuffix(path, "."+asked), strings.HasPrefix(path, asked+"."), strings.Contains(path, "."+asked+"."):
		return nearly
	}
	return not
}

func plain(path string) string {
	return strings.ToLower(strings.NewReplacer("[]", "", conversion.Elsewhere, ".").Replace(path))
}

// Names lists all words with a topic, each once, sorted.
func (c Catalog) Names() []string {
	var out []string
	for _, t := range c {
		out = append(out, t.Name)
		if t.kind == field {
			out = append(out, t.paths...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Similar returns the names that are similar to an unknown word, the nearest first, five at most.
func (c Catalog) Similar(asked string) []string {
	asked = strings.ToLower(normal(asked))
	type scored struct {
		name            string
		distance, whole int
	}
	var all []scored
	for _, name := range c.Names() { // a path is also compared by its last name, because a message may begin the path anywhere
		lower := strings.ToLower(name)
		s := scored{name, spelling.Distance(last(lower), last(asked)), spelling.Distance(lower, asked)}
		if s.distance <= typos(last(asked), last(lower)) || s.whole <= typos(asked, lower) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.whole, b.whole))
	})
	var out []string
	for _, s := range all[:min(len(all), 5)] {
		out = append(out, s.name)
	}
	return out
}

// typos returns how many letters may differ between a word and the name that is meant: a third of the longer one, because the word's end may be missing.
func typos(word, meant string) int { return max(1, max(len(word), len(meant))/3) }

// last returns the last name of a path, or what follows a domain.
func last(path string) string {
	path = strings.TrimSuffix(strings.TrimSuffix(path, ".*"), "[]")
	return path[strings.LastIndexAny(path, "./")+1:]
}
