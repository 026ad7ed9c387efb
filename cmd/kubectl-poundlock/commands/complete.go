// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/poundlock/poundlock/policies/authority"
)

// completeTargets completes KIND/NAME: the kinds, and behind a slash the names that the cluster has.
func (p *plugin) completeTargets(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	word, name, named := strings.Cut(begun, "/")
	if !named {
		var out []string
		for _, k := range authority.Kinds() {
			out = append(out, strings.ToLower(k.Name)+"/", k.Resource)
		}
		return starting(out, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	kind, err := parseKind(word)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second) // who waits for a completion types on
	defer cancel()
	var out []string
	for _, n := range p.names(ctx, kind) {
		out = append(out, word+"/"+n)
	}
	return starting(out, word+"/"+name), cobra.ShellCompDirectiveNoFileComp
}

// names lists objects of a kind by their names, none where the cluster does not answer.
func (p *plugin) names(ctx context.Context, kind authority.Kind) []string {
	pairs, err := p.pairs()
	if err != nil {
		return nil
	}
	config, err := p.restConfig(nil)
	if err != nil {
		return nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil
	}
	var out []string
	for _, pair := range pairs {
		list, err := client.Resource(kind.MachineAPI.WithResource(kind.Resource)).Namespace(pair.MachineAPI).List(ctx, metav1.ListOptions{Limit: 500})
		if err != nil {
			return nil
		}
		for i := range list.Items {
			out = append(out, list.Items[i].GetName())
		}
	}
	return out
}

// allNamespaces are those that -n takes: both of each pair.
func (p *plugin) allNamespaces() []string {
	pairs, err := authority.ParsePairs(p.namespaces)
	if err != nil {
		return nil
	}
	var out []string
	for _, pair := range pairs {
		out = append(out, pair.MachineAPI, pair.ClusterAPI)
	}
	return out
}

func (p *plugin) kubeconfig() clientcmdapi.Config {
	raw, err := p.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return clientcmdapi.Config{} // completes nothing
	}
	return raw
}

func (p *plugin) contexts() []string { return slices.Sorted(maps.Keys(p.kubeconfig().Contexts)) }
func (p *plugin) clusters() []string { return slices.Sorted(maps.Keys(p.kubeconfig().Clusters)) }
func (p *plugin) users() []string    { return slices.Sorted(maps.Keys(p.kubeconfig().AuthInfos)) }

func starting(words []string, with string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, with) {
			out = append(out, w)
		}
	}
	return out
}
