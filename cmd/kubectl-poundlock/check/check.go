// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/targets"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/topics"
	"github.com/poundlock/poundlock/internal/spelling"
)

// options are the flags of check.
type options struct {
	*cli.Plugin
	targets.Files
	targets.Selection
	cli.OutputFlags
	to     string
	failOn []string
	fails  func() bool // reports whether --fail-on is given
}

// NewCommand is `kubectl poundlock check`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	o := &options{Plugin: p, Files: targets.Files{BootData: true}}
	cmd := &cobra.Command{
		Use:   "check [KIND[/NAME]…] [-f FILE…]",
		Short: "Show which objects could move to the other API today, which could not, and why",
		Long: `Show which objects could move to the other API today, which could not, and why.

Without -f, check reads the cluster. With -f, check reads only the files: a file, a folder, a must-gather, or - for standard input. Also give
the cluster's Infrastructure object and the infrastructure cluster object (such as an AWSCluster). Without these two objects the answer is no or
unknown, and check names what it assumes and what it needs.

check changes nothing, and requests no move.`,
		Example: `  # The whole cluster
  kubectl poundlock check

  # A manifest, before it is applied anywhere
  kubectl poundlock check -f machineset.yaml

  # A must-gather: which objects could move back to Machine API?
  kubectl poundlock check -f ./must-gather.local.5421 --to machineapi

  # In CI: exit with code 3 if an object cannot move, or only if it cannot move for this reason
  kubectl poundlock check -f manifests/ --fail-on blocked
  kubectl poundlock check -f manifests/ --fail-on FieldsNotConvertible -o json`,
		ValidArgsFunction: targets.Complete(p),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	o.Files.AddFlags(cmd, "check these files, folders with their subfolders (such as a must-gather), URLs or - (standard input) instead of the cluster")
	o.Selection.AddFlags(cmd)
	o.OutputFlags.AddFlags(cmd, "table", "wide", "json", "yaml", "name")
	o.AddTableFlags(cmd)
	cmd.Flags().StringVar(&o.to, "to", "clusterapi", "the API to migrate to: clusterapi or machineapi")
	cmd.Flags().StringSliceVar(&o.failOn, "fail-on", nil,
		"end with exit code 3 if an object has one of these verdicts (blocked, unknown, waiting, moving) or reasons (FieldsNotConvertible, …)")
	o.fails = func() bool { return cmd.Flags().Changed("fail-on") }
	_ = cmd.RegisterFlagCompletionFunc("to", targets.CompleteAPI) // no error: the flag exists
	cli.CompleteFlag(cmd, "fail-on", "blocked", "unknown", "waiting", "moving", readiness.ReasonFields)
	return cmd
}

func (o *options) run(ctx context.Context, args []string) error {
	to, err := targets.ParseAPI(o.to)
	if err != nil {
		return err
	}
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	if o.fails() && len(o.failOn) == 0 {
		return cli.Usagef("--fail-on is empty, so check would never fail: give a verdict or a reason, or leave the flag out")
	}
	if err := knownFailures(o.failOn); err != nil {
		return err
	}
	f, err := o.Gather(ctx, o.Plugin, o.Selection, args)
	if err != nil {
		return err
	}
	r := reportOf(f, f.Describe(o.Given), to)
	r.selector = o.Selector
	if r.asked, err = targets.Parse(args); err != nil {
		return err
	}
	if o.None() {
		pairs, err := o.Pairs()
		if err != nil {
			return err
		}
		r.Away = o.awayIfInstalled(ctx, pairs[0].ClusterAPI)
	}
	if r.Objects, err = cli.Sorted(o.OutputFlags, r.Objects); err != nil {
		return err
	}
	if err := o.write(r); err != nil {
		return err
	}
	return r.exit(o.failOn)
}

// knownFailures returns an error for a word of --fail-on that no object can have, because such a word would never make check fail.
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
		return cli.Usagef("--fail-on %q: give one of %s, or a reason that `kubectl poundlock explain` explains.%s", word, strings.Join(verdicts, ", "), meant)
	}
	return nil
}

// awayIfInstalled returns the sentence that Poundlock does not answer, if a Lease or a webhook configuration shows that Poundlock is installed. Otherwise it
// returns "", because users also run check before they install Poundlock.
func (o *options) awayIfInstalled(ctx context.Context, namespace string) string {
	seen := presence.Signs(ctx, o.Plugin, namespace)
	if seen.Lease.Renewed.IsZero() && len(seen.Missing) != 1 && !o.configures(ctx) {
		return ""
	}
	return seen.Away(o.Now())
}

// configures reports whether a webhook configuration of Poundlock's exists. It is false if the user may not read that.
func (o *options) configures(ctx context.Context) bool {
	client, err := o.Client(nil)
	if err != nil {
		return false
	}
	_, err = client.Resource(presence.Webhooks[0]).Get(ctx, presence.Name, metav1.GetOptions{})
	return err == nil
}
