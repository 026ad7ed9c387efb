// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/manifests/privatetypes"
)

var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

const privateTypesNamespace = "hypershift"

func privateTypesCommand(p *plugin) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "private-types",
		Short: "Install Cluster API's types under private names, so that the platform's and yours do not meet",
		Long: `Install Cluster API's types under private names (cluster.hypershift.openshift.io and the groups beneath it), so that the platform's own types and yours do not meet.

Clients of Cluster API reach them under the standard names, through a proxy beside them: see docs/private-types.md.`,
		Example: `  kubectl poundlock private-types status`,
		// cobra suggests a command at the root alone.
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return cli.Usagef("unknown command %q for %q; did you mean %s?", args[0], cmd.CommandPath(), strings.Join(near, " or "))
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(privateTypesInstall(p), privateTypesStatus(p), privateTypesUninstall(p), privateTypesSidecar(p))
	return cmd
}

type privateTypesOptions struct {
	privatetypes.Options
	files       []string
	fromCluster bool
	caBundle    string
	takeOver    bool
	dryRun      string
	yes         bool
}

func (o *privateTypesOptions) check() error {
	return cli.CheckDryRun(o.dryRun)
}

func (p *plugin) privateNamespace() string {
	if *p.Config.Namespace != "" {
		return *p.Config.Namespace
	}
	return privateTypesNamespace
}
