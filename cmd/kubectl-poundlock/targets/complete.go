// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/policies/authority"
)

// Complete completes KIND/NAME: the kinds and, after a slash, the names in the cluster.
func Complete(p *cli.Plugin) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd.Context(), p, begun)
	}
}

func complete(ctx context.Context, p *cli.Plugin, begun string) ([]string, cobra.ShellCompDirective) {
	word, name, named := strings.Cut(begun, "/")
	if !named {
		var out []string
		for _, k := range authority.Kinds() {
			out = append(out, strings.ToLower(k.Name)+"/", k.Resource)
		}
		return cli.Starting(out, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	kind, err := parseKind(word)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // a user who waits for a completion goes on typing
	defer cancel()
	var out []string
	for _, n := range names(ctx, p, kind) {
		out = append(out, word+"/"+n)
	}
	return cli.Starting(out, word+"/"+name), cobra.ShellCompDirectiveNoFileComp
}

// names lists a kind's objects by name, none if the cluster does not answer.
func names(ctx context.Context, p *cli.Plugin, kind authority.Kind) []string {
	pairs, err := p.Pairs()
	if err != nil {
		return nil
	}
	client, err := p.Client(nil)
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
