// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/reconcilers/install"
)

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

// held returns the error of a release that is not applied; nil if the release is applied.
func held(view *install.View) error {
	switch {
	case view.Others != "":
		return cli.Exit(cli.CodeHeld, others(view))
	case view.Rival != "":
		return cli.Exit(cli.CodeHeld, "the release is not applied, because OpenShift's own installer runs: Deployment "+view.Rival)
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

// others returns the sentence about a Cluster API that another tool has installed, and with which the installer has never had anything to do.
func others(view *install.View) string {
	return "Cluster API belongs to " + view.Others + ", and the installer has no release: no ConfigMap of a release is in " + bundle.Namespace +
		". The tool that installed Cluster API shows its providers and updates them; this command shows what poundlock install installs"
}

// writeDiff prints the differences between the release and the cluster. Each result has its own exit code. The error of an object that could not be read comes
// first, because the other results may then be wrong.
func (o *options) writeDiff(view *install.View) error {
	differs := false
	var unread []error
	for _, provider := range view.Providers {
		for _, object := range provider.Objects {
			if object.Unread != nil {
				unread = append(unread, fmt.Errorf("%s: %w", provider.Label(), object.Unread))
			}
			for _, line := range describe(object) {
				differs = true
				fmt.Fprintf(o.Out, "%s %s/%s: %s\n", provider.Label(), object.Want.GetKind(), object.Want.GetName(), line)
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
		return append(out, "the object belongs to "+o.Owner)
	}
	out = append(out, o.Differences...)
	for _, field := range o.Added {
		out = append(out, "added: "+field)
	}
	return out
}

func (o *options) writeTable(view *install.View) {
	out := o.Printer()
	if view.Others != "" { // what the installer would wait for does not matter here
		out.Linef("%s", printers.Wrap(others(view)+".", "", out.Width))
		return
	}
	switch {
	case view.Rival != "":
		out.Linef("The installer writes nothing, because OpenShift's own installer runs: Deployment %s.", view.Rival)
	case view.Platform.Unsupported != "":
		out.Linef("Nothing is installed. %s.", view.Platform.Unsupported)
	case view.Platform.Waits != "":
		out.Linef("Nothing is installed yet. %s.", view.Platform.Waits)
	}
	if view.Platform.Name != "" && len(view.Providers) > 0 {
		rows := [][]string{{"PROVIDER", "VERSION", "CONTENT", "INSTALLED", "STAGE", "WAITS FOR"}}
		for _, provider := range view.Providers {
			rows = append(rows, providerReportOf(provider).row(int(provider.Progress.Stage)))
		}
		out.TableWithText(o.Headless(rows))
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
		out.Linef("%s %s. The content that was installed last stays applied.", out.Yellow("The ConfigMaps of these providers are missing:"),
			strings.Join(view.Missing, ", "))
	}
}

// short returns the beginning of a hash, long enough to distinguish contents.
func short(hash string) string {
	const length = 12
	hash = strings.TrimPrefix(hash, "sha256:")
	return hash[:min(length, len(hash))]
}
