// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package privatetypes

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
)

var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

const defaultNamespace = "hypershift"

// NewCommand is `kubectl poundlock private-types`.
func NewCommand(p *cli.Plugin) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "private-types",
		Short: "Install Cluster API's types under private names, so that the platform's types and yours do not conflict",
		Long: `Install Cluster API's types under private names (cluster.hypershift.openshift.io and the groups beneath it),
so that the platform's own types and yours do not conflict.

Clients of Cluster API reach the private types under the standard names, through a proxy beside each client: see docs/private-types.md.`,
		Example:                    `  kubectl poundlock private-types status`,
		Args:                       cli.OneOfItsCommands,
		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newInstall(p), newStatus(p), newUninstall(p), newSidecar(p))
	return cmd
}

// namespaceOf returns the namespace of the private types' objects.
func namespaceOf(p *cli.Plugin) string {
	if *p.Config.Namespace != "" {
		return *p.Config.Namespace
	}
	return defaultNamespace
}

// manifestsAt returns, by name, the texts of a file, of the YAML and JSON files in a folder, or of standard input.
func manifestsAt(p *cli.Plugin, name string) (map[string][]byte, error) {
	out := map[string][]byte{}
	if name == "-" {
		text, err := io.ReadAll(p.In)
		out["standard input"] = text
		return out, err
	}
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path != name && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		out[path], err = os.ReadFile(path)
		return err
	})
	return out, err
}
