// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/poundlock/poundlock/policies/authority"
)

// completeConnection completes the connection's flags from the kubeconfig.
func (p *Plugin) completeConnection(root *cobra.Command) {
	for flag, complete := range map[string]func() []string{"namespace": p.allNamespaces, "context": p.contexts, "cluster": p.clusters, "user": p.users} {
		_ = root.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) { // no error: the flag exists
			return Starting(complete(), begun), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// allNamespaces returns the values of -n: both namespaces of each pair.
func (p *Plugin) allNamespaces() []string {
	pairs, err := authority.ParsePairs(p.Namespaces)
	if err != nil {
		return nil
	}
	var out []string
	for _, pair := range pairs {
		out = append(out, pair.MachineAPI, pair.ClusterAPI)
	}
	return out
}

func (p *Plugin) kubeconfig() clientcmdapi.Config {
	raw, err := p.Config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return clientcmdapi.Config{} // without a kubeconfig nothing is completed
	}
	return raw
}

func (p *Plugin) contexts() []string { return slices.Sorted(maps.Keys(p.kubeconfig().Contexts)) }
func (p *Plugin) clusters() []string { return slices.Sorted(maps.Keys(p.kubeconfig().Clusters)) }
func (p *Plugin) users() []string    { return slices.Sorted(maps.Keys(p.kubeconfig().AuthInfos)) }

// Starting returns the words that begin with the typed text.
func Starting(words []string, with string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, with) {
			out = append(out, w)
		}
	}
	return out
}

// CompleteFlag completes a flag's value from fixed words.
func CompleteFlag(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // no error: the flag exists
}
