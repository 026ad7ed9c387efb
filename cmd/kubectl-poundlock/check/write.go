// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/topics"
	"github.com/poundlock/poundlock/internal/amount"
)

func (o *options) write(r report) error {
	if done, err := o.Document(o.OutputFlags, "CheckReport", r); done {
		return err
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(o.ErrOut, "cannot be read: %s: %s\n", problem.Source, problem.Text)
	}
	if o.Format == "name" {
		for _, f := range r.Objects {
			if f.Readiness == readiness.Ready {
				fmt.Fprintln(o.Out, f.Object())
			}
		}
		return nil
	}
	reader{o.Printer().Uncut(o.Format == "wide"), r, o.OutputFlags}.write()
	return nil
}

// reader writes the report for a person.
type reader struct {
	printers.Output
	report
	cli.OutputFlags
}

func (w reader) wide() bool { return w.Format == "wide" }

func (w reader) write() {
	if w.Away != "" {
		w.Linef("%s\n", w.Red(printers.Wrap(w.Away, "", w.Width)))
	}
	if len(w.Objects) == 0 {
		w.Linef("%s", w.asked.Nothing(w.selector, w.aside()))
		for _, text := range w.unchecked {
			w.Linef("\n%s", printers.Wrap(text, "", w.Width))
		}
		return
	}
	w.Linef("Could these move to %s today?\n", w.To.Text())
	w.table()
	w.Linef("")
	w.sum()
	w.reasons()
	w.texts("Do this before these objects move, or before the moved set creates a Machine:", Preparations(w.Objects))
	w.texts("A move leaves these fields out, and nothing changes for the instances:", LeftOut(w.Objects))
	w.neighbours()
	for _, text := range slices.Concat(w.PausedClusters, w.Undrained) {
		w.Linef("\n%s", w.Yellow(printers.Wrap(text, "", w.Width)))
	}
	for _, text := range w.Assumed {
		w.Linef("\n%s", w.Dim(printers.Wrap(text, "", w.Width)))
	}
	if w.wide() {
		w.warnings()
	}
}

func (w reader) aside() string {
	if w.others == 0 {
		return ""
	}
	return fmt.Sprintf(" among %s", amount.Of(w.others, "object"))
}

// number returns the number of a reason's group in the list below the table.
func (w reader) number(g Group) int {
	return 1 + slices.IndexFunc(w.Reasons, func(r Group) bool {
		return r.Readiness == g.Readiness && r.Reason == g.Reason && r.Field == g.Field && r.Message == g.Message
	})
}

func (w reader) table() {
	rows := [][]string{{"OBJECT", "AUTHORITY", "ANSWER", "WHY"}}
	if w.wide() {
		rows[0] = append(rows[0], "NAMESPACE", "SOURCE")
	}
	for _, f := range w.Objects {
		row := []string{f.Ref(), f.Authoritative.Text(), w.answer(f.Readiness), w.why(f)}
		if w.wide() {
			row = append(row, f.Namespace, f.Source)
		}
		rows = append(rows, row)
	}
	w.TableWithText(w.Headless(rows))
}

func (w reader) answer(v readiness.Readiness) string {
	text := cmp.Or(readiness.Answers()[v], string(v))
	switch v {
	case readiness.Ready:
		return w.Green(text)
	case readiness.Blocked:
		return w.Red(text)
	case readiness.Unknown, readiness.Waiting, readiness.Moving:
		return w.Yellow(text)
	}
	return w.Dim(text)
}

func (w reader) why(f readiness.Finding) string {
	const most = 3
	var out []string
	if f.Readiness == readiness.Unknown {
		return fmt.Sprintf("needs %s [%d]", strings.Join(f.Needs, " and "), w.number(GroupsOf(f)[0]))
	}
	if back := f.Back(); back != "" {
		out = append(out, back)
	}
	for _, g := range GroupsOf(f) {
		text := g.Field
		if text == "" {
			text = g.Reason
		}
		out = append(out, fmt.Sprintf("%s [%d]", text, w.number(g)))
	}
	if more := len(out) - most; more > 0 && !w.wide() {
		out = append(out[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

func (w reader) sum() {
	var parts []string
	for _, part := range []struct {
		verdict readiness.Readiness
		text    string
	}{
		{readiness.Ready, "could move today"}, {readiness.Blocked, "cannot"}, {readiness.Unknown, "unknown"}, {readiness.Waiting, "not yet"},
		{readiness.Moving, "on the move"}, {readiness.There, "with " + w.To.Text() + " already"},
	} {
		if n := w.Counts[string(part.verdict)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.text))
		}
	}
	w.Linef("%s: %s.", w.Bold(amount.Of(len(w.Objects), "object")), strings.Join(parts, ", "))
}

func (w reader) reasons() {
	if len(w.Reasons) == 0 {
		return
	}
	w.Linef("\nWhat is in the way:")
	for i, g := range w.Reasons {
		title := g.Reason
		if g.Field != "" {
			title = g.Field
		}
		w.Linef("\n[%d] %s  %s", i+1, w.Bold(title), w.Dim(inventory.Names(g.refs)))
		w.Linef("%s", printers.Wrap(g.Message, "    ", w.Width))
	}
	if topic := w.firstTopic(topics.Topics()); topic != "" {
		w.Linef("\n%s", printers.Wrap("More about a field or a reason: kubectl poundlock explain "+topic, "", w.Width))
	}
}

// texts prints a heading and texts about several objects, each with its objects. It prints nothing if there are no texts.
func (w reader) texts(heading string, all []Preparation) {
	if len(all) == 0 {
		return
	}
	w.Linef("\n%s", heading)
	for _, p := range all {
		w.Linef("\n%s", w.Dim(inventory.Names(p.Objects)))
		w.Linef("%s", printers.Wrap(p.Text, "    ", w.Width))
	}
}

// neighbours prints who else writes to the objects, because these writers read no warning.
func (w reader) neighbours() {
	all := Neighbours(w.Objects)
	if len(all) == 0 {
		return
	}
	w.Linef("\nOther writers of these objects, and what changes for each writer:")
	for _, n := range all {
		w.Linef("\n%s  %s", w.Bold(n.Who), w.Dim(inventory.Names(n.Objects)))
		w.Linef("%s", printers.Wrap(n.What, "    ", w.Width))
	}
}

// firstTopic returns the first field or reason that `explain` can explain; "" for none. A misspelt field has no topic.
func (w reader) firstTopic(all topics.Catalog) string {
	for _, g := range w.Reasons {
		if topic := cmp.Or(g.Field, g.Reason); len(all.Find(topic)) > 0 {
			return shellWord(topic)
		}
	}
	return ""
}

// shellWord quotes a word that a shell would split.
func shellWord(text string) string {
	if strings.ContainsAny(text, "[]*'\" $") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// warnings prints what the webhook will answer to each request.
func (w reader) warnings() {
	for _, f := range w.Objects {
		if len(f.Warnings) == 0 {
			continue
		}
		w.Linef("\nThe webhook's warnings about a request to move %s:", w.Bold(f.Ref()))
		for _, text := range f.Warnings {
			w.Linef("%s", printers.Wrap(text, "    ", w.Width))
		}
	}
}
