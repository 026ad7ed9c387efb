// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/topics"
)

// options are the flags of explain.
type options struct {
	*cli.Plugin
	cli.OutputFlags
}

// NewCommand is `kubectl poundlock explain`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	o := &options{Plugin: p}
	cmd := &cobra.Command{
		Use:   "explain RULE|REASON|CONDITION|EVENT|ALERT|METRIC|FIELD",
		Short: "Explain a rule, a reason, a condition, an event, an alert, a metric, a phase, an annotation or a field: what it is, why, and what to do",
		Long: `Explain whatever Poundlock prints: a rule, a reason, a condition, an event, an alert, a metric, a phase, an annotation, a field, or another
writer of the same objects (machine-config-operator, Hive, …). explain needs no cluster.

The webhook's answers end with the rule's name in brackets. A field may be a whole path from a message, or only its last names.`,
		Example: `  kubectl poundlock explain authority/spec-locked
  kubectl poundlock explain WaitingForPause
  kubectl poundlock explain PoundlockHandoffWaits
  kubectl poundlock explain deviceIndex
  kubectl poundlock explain 'spec.template.spec.providerSpec.value.blockDevices[0].ebs.kmsKey.filters'`,
		Args: cli.Between(1, 1, "give one thing to explain, in quotes if it has spaces"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return cli.Starting(topics.Topics().Names(), begun), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args[0]) },
	}
	o.OutputFlags.AddFlags(cmd, "text", "json", "yaml")
	return cmd
}

func (o *options) run(asked string) error {
	if err := o.Check(); err != nil {
		return err
	}
	all := topics.Topics()
	found := all.Find(asked)
	if len(found) == 0 {
		text := "there is no explanation of \"" + asked + "\""
		if similar := all.Similar(asked); len(similar) > 0 {
			text += "; did you mean " + strings.Join(similar, ", ") + "?"
		} else {
			text += ": give a rule, a reason, a condition, an event, an alert, a metric, a phase, an annotation, a field or another writer, as Poundlock prints it. " +
				"A field that a message calls unknown is misspelt, or newer than this version of Poundlock: remove the field, or correct its name"
		}
		return cli.Exit(cli.CodeError, text)
	}
	if done, err := o.Document(o.OutputFlags, "TopicList", found); done {
		return err
	}
	w := o.Printer()
	for i, t := range found {
		if i > 0 {
			w.Linef("")
		}
		explained(w, t)
	}
	return nil
}

func explained(w printers.Output, t topics.Topic) {
	w.Linef("%s  %s", w.Bold(t.Name), w.Dim(t.About))
	for _, part := range t.Parts {
		if part.Heading == "" {
			w.Linef("\n%s", unquoted(printers.Wrap(part.Text, "  ", w.Width)))
			continue
		}
		w.Linef("%s", unquoted(printers.Wrap(w.Dim(part.Heading+":")+" "+part.Text, "  ", w.Width)))
	}
}

// unquoted removes Markdown's backquotes from wrapped text. Before that, they keep commands whole.
func unquoted(text string) string { return strings.ReplaceAll(text, "`", "") }
