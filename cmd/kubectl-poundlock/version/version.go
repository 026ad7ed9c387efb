// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package version

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

// options are the flags of version.
type options struct {
	*cli.Plugin
	cli.OutputFlags
	client bool
}

// NewCommand is `kubectl poundlock version`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	o := &options{Plugin: p}
	cmd := &cobra.Command{
		Use: "version", Short: "Print the plugin's version, and the cluster's Poundlock: its image, flags and feature gate", Args: cobra.NoArgs,
		Example: `  kubectl poundlock version
  kubectl poundlock version --client`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&o.client, "client", false, "print only the plugin's version, without a request to the cluster")
	o.OutputFlags.AddFlags(cmd, "text", "json", "yaml")
	return cmd
}

// versions is the output of version.
type versions struct {
	Client string           `json:"client"`
	Server *presence.Server `json:"server,omitempty"`
}

func (o *options) run(ctx context.Context) error {
	if err := o.OutputFlags.Check(); err != nil {
		return err
	}
	v := versions{Client: o.version()}
	var failed error
	if !o.client {
		v.Server, failed = presence.ReadServer(ctx, o.Plugin)
	}
	if done, err := o.Document(o.OutputFlags, "Version", v); done {
		if err == nil {
			err = failed
		}
		return err
	}
	fmt.Fprintln(o.Out, "client:  kubectl-poundlock", v.Client)
	if s := v.Server; s != nil {
		o.writeServer(*s)
	}
	return failed
}

func (o *options) writeServer(s presence.Server) {
	switch refusal := s.Refusal(presence.KindDeployment); {
	case refusal != "":
		fmt.Fprintf(o.Out, "server:  not known: %s\n", refusal)
	case !s.Installed:
		fmt.Fprintf(o.Out, "server:  no Deployment poundlock in %s\n", s.Namespace)
	default:
		fmt.Fprintf(o.Out, "server:  %s, %d of %d replicas are ready\n", s.Image, s.Ready, s.Replicas)
		fmt.Fprintf(o.Out, "flags:   %s\n", printers.Dash(strings.Join(s.Flags, " ")))
	}
	gate := s.Gate
	if gate == "" {
		gate = "not known"
		if refusal := s.Refusal(presence.KindFeatureGate); refusal != "" {
			gate += ": " + refusal
		}
	}
	fmt.Fprintf(o.Out, "gate:    %s is %s\n", presence.FeatureGate, gate)
}

func (o *options) version() string {
	if info, ok := debug.ReadBuildInfo(); ok && o.Version == "" {
		return info.Main.Version
	}
	return o.Version
}
