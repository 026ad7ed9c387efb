// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
)

type versionOptions struct {
	cli.OutputFlags
	client bool
}

func versionCommand(p *plugin) *cobra.Command {
	o := &versionOptions{}
	cmd := &cobra.Command{
		Use: "version", Short: "Print the plugin's version, and the cluster's Poundlock: its image, flags and feature gate", Args: cobra.NoArgs,
		Example: `  kubectl poundlock version
  kubectl poundlock version --client`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.printVersion(cmd.Context(), *o) },
	}
	cmd.Flags().BoolVar(&o.client, "client", false, "ask no cluster")
	o.AddFlags(cmd, "text", "json", "yaml")
	return cmd
}

// versions is what version prints.
type versions struct {
	Client string           `json:"client"`
	Server *presence.Server `json:"server,omitempty"`
}

func (p *plugin) printVersion(ctx context.Context, o versionOptions) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	v := versions{Client: p.version()}
	var failed error
	if !o.client {
		v.Server, failed = presence.Read(ctx, p.Plugin)
	}
	if done, err := p.Document(o.OutputFlags, "Version", v); done {
		if err == nil {
			err = failed
		}
		return err
	}
	fmt.Fprintln(p.Out, "client:  kubectl-poundlock", v.Client)
	if s := v.Server; s != nil {
		p.writeServer(*s)
	}
	return failed
}

func (p *plugin) writeServer(s presence.Server) {
	if !s.Installed {
		fmt.Fprintf(p.Out, "server:  no Deployment poundlock in %s\n", s.Namespace)
	} else {
		fmt.Fprintf(p.Out, "server:  %s, %d of %d replicas are ready\n", s.Image, s.Ready, s.Replicas)
		fmt.Fprintf(p.Out, "flags:   %s\n", printers.Dash(strings.Join(s.Flags, " ")))
	}
	gate := s.Gate
	if gate == "" {
		gate = "not known"
	}
	fmt.Fprintf(p.Out, "gate:    %s is %s\n", presence.FeatureGate, gate)
}

func (p *plugin) version() string {
	if info, ok := debug.ReadBuildInfo(); ok && p.Version == "" {
		return info.Main.Version
	}
	return p.Version
}
