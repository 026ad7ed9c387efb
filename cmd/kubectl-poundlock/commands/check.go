// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/check"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/topics"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/internal/spelling"
	"github.com/poundlock/poundlock/policies/authority"
)

// checkOptions are the flags of check.
type checkOptions struct {
	targets.Files
	targets.Selection
	cli.OutputFlags
	to     string
	failOn []string
}

func checkCommand(p *plugin) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check [KIND[/NAME]…] [-f FILE…]",
		Short: "Tell which objects could move today, which could not, and why",
		Long: `Tell which objects could move today, which could not, and why.

Without -f the cluster is asked. With -f nothing but the files is: a file, a folder, a must-gather, or - for standard input. If they
have the Infrastructure object and the infrastructure cluster object (an AWSCluster) of the cluster, the answer is exact; where not, what
is assumed is said.

Nothing is changed, and nothing is asked for.`,
		Example: `  # The whole cluster
  kubectl poundlock check

  # A manifest, before it is applied anywhere
  kubectl poundlock check -f machineset.yaml

  # A must-gather, for the way back to Machine API
  kubectl poundlock check -f ./must-gather.local.5421 --to machineapi

  # In CI: fail if anything could not move, or for one reason only
  kubectl poundlock check -f manifests/ --fail-on blocked
  kubectl poundlock check -f manifests/ --fail-on FieldsNotConvertible -o json`,
		ValidArgsFunction: targets.Complete(p.Plugin),
		RunE:              func(cmd *cobra.Command, args []string) error { return p.check(cmd.Context(), *o, args) },
	}
	o.Files.AddFlags(cmd, "files, folders (recursively; a must-gather too) or - to check instead of the cluster")
	o.Selection.AddFlags(cmd)
	o.OutputFlags.AddFlags(cmd, "table", "wide", "json", "yaml", "name")
	o.AddTableFlags(cmd)
	cmd.Flags().StringVar(&o.to, "to", "clusterapi", "where to: clusterapi or machineapi")
	cmd.Flags().StringSliceVar(&o.failOn, "fail-on", nil,
		"end with exit code 3 if an object has one of these verdicts (blocked, unknown, waiting, moving) or reasons (FieldsNotConvertible, …)")
	_ = cmd.RegisterFlagCompletionFunc("to", targets.CompleteAPI)                                                                                                                          // the flag is there
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions([]string{"blocked", "unknown", "waiting", "moving", readiness.ReasonFields}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

// report is what check says, as a program reads it.
type report struct {
	To       authority.API       `json:"to"`
	Counts   map[string]int      `json:"counts"`
	Objects  []readiness.Finding `json:"objects"`
	Reasons  []check.Group       `json:"reasons,omitempty"`
	Problems []inventory.Problem `json:"problems,omitempty"`
	Assumed  []string            `json:"assumed,omitempty"`
	// Away reports that Poundlock is installed and does not answer, and since when.
	Away string `json:"away,omitempty"`

	others    int
	unchecked []string
}

func (p *plugin) check(ctx context.Context, o checkOptions, args []string) error {
	to, err := targets.ParseAPI(o.to)
	if err != nil {
		return err
	}
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	if err := knownFailures(o.failOn); err != nil {
		return err
	}
	f, err := o.Gather(ctx, p.Plugin, o.Selection, args)
	if err != nil {
		return err
	}
	r := judge(f, f.Describe(o.Said), to)
	if len(o.Paths) == 0 {
		pairs, err := p.Pairs()
		if err != nil {
			return err
		}
		r.Away = p.awayIfInstalled(ctx, pairs[0].ClusterAPI)
	}
	if r.Objects, err = cli.Sorted(o.OutputFlags, r.Objects); err != nil {
		return err
	}
	if err := p.writeReport(o, r); err != nil {
		return err
	}
	return r.verdict(o.failOn)
}

// awayIfInstalled is away where a Lease or a webhook configuration shows that Poundlock is installed: who asks what could move may not have it yet.
func (p *plugin) awayIfInstalled(ctx context.Context, namespace string) string {
	is, lease := presence.Signs(ctx, p.Plugin, namespace)
	if lease.Renewed.IsZero() && !p.configures(ctx) {
		return ""
	}
	return presence.Away(is, lease, p.Now())
}

// configures reports whether there is a webhook configuration of Poundlock's; false for one who may not read that.
func (p *plugin) configures(ctx context.Context) bool {
	client, err := p.Client(nil)
	if err != nil {
		return false
	}
	_, err = client.Resource(presence.Webhooks[0]).Get(ctx, presence.Name, metav1.GetOptions{})
	return err == nil
}

func judge(f *inventory.Fleet, c inventory.Cluster, to authority.API) report {
	r := report{To: to, Counts: map[string]int{}, Objects: []readiness.Finding{}, Problems: f.Problems, Assumed: append(f.Unchecked(), c.Assumed...), others: f.Others,
		unchecked: f.Unchecked()}
	for _, pair := range f.Pairs {
		env, unknown := f.Env(c, pair)
		finding := readiness.Judge(pair, to, env, unknown, f.Lacks(c, env))
		r.Objects = append(r.Objects, finding)
		r.Counts[string(finding.Readiness)]++
	}
	r.Reasons = check.Groups(r.Objects)
	return r
}

// knownFailures refuses a word of --fail-on that no object can ever have: it would fail on nothing.
func knownFailures(words []string) error {
	var verdicts []string
	for _, v := range readiness.Readinesses() {
		verdicts = append(verdicts, string(v))
	}
	known := slices.Concat(verdicts, topics.ReasonNames())
	for _, word := range words {
		if slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, word) }) {
			continue
		}
		meant := ""
		if near := spelling.Nearest(word, known); near != "" {
			meant = fmt.Sprintf(" Did you mean %s?", near)
		}
		return cli.Usagef("--fail-on %q: want one of %s, or a reason that `kubectl poundlock explain` knows.%s", word, strings.Join(verdicts, ", "), meant)
	}
	return nil
}

// verdict is the exit code: what could not be read comes first, then --fail-on.
func (r report) verdict(failOn []string) error {
	if len(r.Problems) > 0 {
		return cli.Exit(cli.CodeError, "")
	}
	for _, f := range r.Objects {
		if slices.ContainsFunc(failOn, func(on string) bool {
			return strings.EqualFold(on, string(f.Readiness)) || strings.EqualFold(on, f.Reason)
		}) {
			return cli.Exit(cli.CodeNo, "")
		}
	}
	return nil
}

func (p *plugin) writeReport(o checkOptions, r report) error {
	if done, err := p.Document(o.OutputFlags, "CheckReport", r); done {
		return err
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(p.ErrOut, "cannot be read: %s: %s\n", problem.Source, problem.Text)
	}
	if o.Format == "name" {
		for _, f := range r.Objects {
			if f.Readiness == readiness.Ready {
				fmt.Fprintln(p.Out, f.Object())
			}
		}
		return nil
	}
	reader{p.Printer(), r, o.OutputFlags}.write()
	return nil
}

// reader writes the report for somebody who has never seen one.
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
		w.Linef("No Machine, MachineSet or MachineHealthCheck was found%s.", w.aside())
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
	w.neighbours()
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

// number finds the group of a reason in the list below the table.
func (w reader) number(g check.Group) int {
	return 1 + slices.IndexFunc(w.Reasons, func(r check.Group) bool {
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
	w.Table(w.Headless(rows))
}

func (w reader) answer(v readiness.Readiness) string {
	switch v {
	case readiness.Ready:
		return w.Green("yes")
	case readiness.Blocked:
		return w.Red("no")
	case readiness.Unknown:
		return w.Yellow("unknown")
	case readiness.Waiting:
		return w.Yellow("not yet")
	case readiness.Moving:
		return w.Yellow("moving")
	}
	return w.Dim("is there")
}

func (w reader) why(f readiness.Finding) string {
	const most = 3
	var out []string
	if f.Readiness == readiness.Unknown {
		return fmt.Sprintf("needs %s [%d]", strings.Join(f.Needs, " and "), w.number(check.GroupsOf(f)[0]))
	}
	for _, g := range check.GroupsOf(f) {
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
		{readiness.Moving, "on the move"}, {readiness.There, "there already"},
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
		w.Linef("\n[%d] %s  %s", i+1, w.Bold(title), w.Dim(objectsText(g.Objects)))
		w.Linef("%s", printers.Wrap(g.Message, "    ", w.Width))
	}
	if topic := w.firstTopic(topics.Topics()); topic != "" {
		w.Linef("\n%s", printers.Wrap("More about a field or a reason: kubectl poundlock explain "+topic, "", w.Width))
	}
}

// neighbours reports who else writes to the objects, because these writers read no warning.
func (w reader) neighbours() {
	all := check.Neighbours(w.Objects)
	if len(all) == 0 {
		return
	}
	w.Linef("\nWho else writes to these, and what changes for them:")
	for _, n := range all {
		w.Linef("\n%s  %s", w.Bold(n.Who), w.Dim(objectsText(n.Objects)))
		w.Linef("%s", printers.Wrap(n.What, "    ", w.Width))
	}
}

// firstTopic is the first field or reason that can be explained: a misspelt field cannot; "" for none.
func (w reader) firstTopic(all topics.Catalog) string {
	for _, g := range w.Reasons {
		if topic := cmp.Or(g.Field, g.Reason); len(all.Find(topic)) > 0 {
			return shellWord(topic)
		}
	}
	return ""
}

// shellWord quotes what a shell would take apart.
func shellWord(text string) string {
	if strings.ContainsAny(text, "[]*'\" $") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// objectsText names objects where they are few, and counts them by kind where they are many.
func objectsText(refs []string) string {
	if len(refs) <= 3 {
		return strings.Join(refs, ", ")
	}
	var parts []string
	for _, k := range []string{"MachineSet", "Machine", "MachineHealthCheck"} {
		n := 0
		for _, ref := range refs {
			if strings.HasPrefix(ref, strings.ToLower(k)+"/") {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, amount.Of(n, k))
		}
	}
	return strings.Join(parts, ", ")
}

// warnings are what the webhook will answer to each request.
func (w reader) warnings() {
	for _, f := range w.Objects {
		if len(f.Warnings) == 0 {
			continue
		}
		w.Linef("\nWhat the webhook answers to a request for %s:", w.Bold(f.Ref()))
		for _, text := range f.Warnings {
			w.Linef("%s", printers.Wrap(text, "    ", w.Width))
		}
	}
}
