// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/reconcilers/install"
)

func providersCommand(p *plugin) *cobra.Command {
	o := &providersOptions{}
	cmd := &cobra.Command{
		Use:   "providers",
		Short: "Show which providers of Cluster API are installed, and what the installer waits for",
		Long: `Show which providers of Cluster API are installed: version, hash of the content, and the stage in which each one waits, and for what.

It reads what the installer reads, and writes nothing.

Exit codes of --diff, and of --render but for 3:
  0  nothing differs from what the installer applies, and that is the release's content
  1  an error: the question could not be answered, because an object could not be read for example
  3  something differs; kubectl diff has 1 for that
  5  something holds the release back: what is shown is the content that was installed last, or nothing`,
		Example: `  kubectl poundlock providers

  # What somebody changed or added.
  kubectl poundlock providers --diff

  # What would be applied.
  kubectl poundlock providers --render`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.providers(cmd, *o) },
	}
	cmd.Flags().BoolVar(&o.render, "render", false, "Print the objects that would be applied, as YAML (false)")
	cmd.Flags().BoolVar(&o.diff, "diff", false, "Print what in the cluster differs from them (false)")
	cmd.Flags().StringSliceVar(&o.platforms, "enable-platform", nil, "Also look at these platforms, as the installer is told: IBMCloud, Nutanix, KubeVirt (none)")
	cmd.Flags().BoolVar(&o.tags, "allow-tags", false, "Accept images that are named by a tag, as the installer is told (false)")
	return cmd
}

type providersOptions struct {
	render, diff, tags bool
	platforms          []string
}

func (p *plugin) providers(cmd *cobra.Command, o providersOptions) error {
	if o.render && o.diff {
		return cli.Usagef("--render and --diff: use one of them")
	}
	if err := installation.CheckEnabled(o.platforms); err != nil {
		return cli.Usagef("--enable-platform: %v", err)
	}
	config, err := p.RESTConfig(nil)
	if err != nil {
		return err
	}
	view, err := install.Look(cmd.Context(), config, install.Options{Enabled: o.platforms, AllowTags: o.tags})
	if err != nil {
		return err
	}
	switch {
	case o.render:
		return render(p.Out, view)
	case o.diff:
		return p.providersDiff(view)
	}
	p.providersTable(view)
	return nil
}

func render(out io.Writer, view *install.View) error {
	for _, provider := range view.Providers {
		for _, o := range provider.Objects {
			text, err := yaml.Marshal(o.Want.Object)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "---\n# %s %s, stage %s\n%s", provider.Label(), provider.Version,
				installation.NameOf(bundle.StageOf(o.Want.GroupVersionKind().GroupKind())), text)
		}
	}
	return held(view)
}

// held is the error of a release that is not applied.
func held(view *install.View) error {
	switch {
	case view.Rival != "":
		return cli.Exit(cli.CodeHeld, "the release is not applied: OpenShift's own installer runs, Deployment "+view.Rival)
	case view.Problem != nil:
		return cli.Exit(cli.CodeHeld, "the release is not applied: "+view.Problem.Error())
	case view.Waits != "":
		return cli.Exit(cli.CodeHeld, "the release is not applied yet: "+view.Waits)
	case view.Platform.Waits != "":
		return cli.Exit(cli.CodeHeld, "the release is not applied yet: "+view.Platform.Waits)
	case view.Platform.Unsupported != "":
		return cli.Exit(cli.CodeHeld, "the release is not applied: "+view.Platform.Unsupported)
	case len(view.Missing) > 0:
		return cli.Exit(cli.CodeHeld, "the ConfigMaps of "+strings.Join(view.Missing, ", ")+" are missing: the content that was installed last stays applied")
	}
	return nil
}

// providersDiff prints what differs. Each end has a code of its own; what could not be read comes first, because then the others may be wrong.
func (p *plugin) providersDiff(view *install.View) error {
	differs := false
	var unread []error
	for _, provider := range view.Providers {
		for _, o := range provider.Objects {
			if o.Unread != nil {
				unread = append(unread, fmt.Errorf("%s: %w", provider.Label(), o.Unread))
			}
			for _, line := range describe(o) {
				differs = true
				fmt.Fprintf(p.Out, "%s %s/%s: %s\n", provider.Label(), o.Want.GetKind(), o.Want.GetName(), line)
			}
		}
	}
	switch err := held(view); {
	case len(unread) > 0:
		return errors.Join(unread...)
	case err != nil:
		return err
	case differs:
		return cli.Exit(cli.CodeNo, "")
	}
	return nil
}

func describe(o install.ObjectView) []string {
	var out []string
	if o.Owner != "" {
		return append(out, "it belongs to "+o.Owner)
	}
	out = append(out, o.Differences...)
	for _, field := range o.Added {
		out = append(out, "added: "+field)
	}
	return out
}

func (p *plugin) providersTable(view *install.View) {
	out := p.Printer()
	switch {
	case view.Rival != "":
		out.Linef("The installer writes nothing: OpenShift's own one runs, Deployment %s.", view.Rival)
	case view.Platform.Unsupported != "":
		out.Linef("Nothing is installed. %s.", view.Platform.Unsupported)
	case view.Platform.Waits != "":
		out.Linef("Nothing is installed yet. %s.", view.Platform.Waits)
	}
	if view.Platform.Name != "" && len(view.Providers) > 0 {
		rows := [][]string{{"PROVIDER", "VERSION", "CONTENT", "INSTALLED", "STAGE", "WAITS FOR"}}
		for _, provider := range view.Providers {
			rows = append(rows, row(provider))
		}
		out.Table(rows)
	}
	for _, provider := range view.Providers {
		for _, entry := range provider.Dropped {
			out.Linef("%s %s of %s: %s.", out.Yellow("Not applied:"), entry.Object, provider.Label(), entry.What)
		}
	}
	if view.Problem != nil {
		out.Linef("%s %s", out.Red("The release is not applied:"), view.Problem)
	}
	if view.Waits != "" {
		out.Linef("%s %s", out.Yellow("The release is not applied yet:"), view.Waits)
	}
	if view.Lacks != "" {
		out.Linef("%s %s.", out.Red("No Machine can be created:"), view.Lacks)
	}
	if len(view.Missing) > 0 {
		out.Linef("%s %s. The content that was installed last stays applied.", out.Yellow("Their ConfigMaps are missing:"), strings.Join(view.Missing, ", "))
	}
}

func row(provider install.ProviderView) []string {
	progress := provider.Progress
	installed, stage, waits := progress.ReadyVersion, "all passed", progress.Waits
	if installed == "" {
		installed = "-"
	}
	switch {
	case progress.Hash != provider.Hash:
		stage, waits = "not begun", "" // what the installer noted is about earlier content
	case progress.Stage > 0:
		stage = fmt.Sprintf("%d %s", progress.Stage, installation.NameOf(progress.Stage))
	}
	switch {
	case progress.Hash != provider.Hash:
	case progress.Problem != "":
		waits = progress.Problem
	case progress.Trouble != "":
		waits = "trying again: " + progress.Trouble
	}
	return []string{provider.Label(), provider.Version, short(provider.Hash), installed, stage, waits}
}

// short is enough of a hash to tell contents apart.
func short(hash string) string {
	const length = 12
	hash = strings.TrimPrefix(hash, "sha256:")
	return hash[:min(length, len(hash))]
}
