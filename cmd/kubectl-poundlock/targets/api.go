// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/policies/authority"
)

// ParseAPI parses --to.
func ParseAPI(text string) (authority.API, error) {
	switch strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(text, "-", ""), " ", "")) {
	case "clusterapi", "capi":
		return authority.ClusterAPI, nil
	case "machineapi", "mapi":
		return authority.MachineAPI, nil
	}
	return authority.Unset, cli.Usagef("--to %q: give clusterapi or machineapi", text)
}

// CompleteAPI completes the values of ParseAPI.
func CompleteAPI(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"clusterapi\tmove to Cluster API", "machineapi\tmove to Machine API"}, cobra.ShellCompDirectiveNoFileComp
}
