// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/policies/authority"
)

// Selection is which objects to read.
type Selection struct {
	Selector string
	All      bool
}

// AddFlags adds -l and -A.
func (s *Selection) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.Selector, "selector", "l", "", "only objects whose labels match, such as machine.openshift.io/cluster-api-machine-role=worker")
	cmd.Flags().BoolVarP(&s.All, "all-namespaces", "A", false, "use all pairs of --namespaces, and ignore -n")
}

// Query returns the query of the flags for the targets; without targets it requests all kinds.
func (s Selection) Query(p *cli.Plugin, t List) (inventory.Query, error) {
	if s.All {
		*p.Config.Namespace = ""
	}
	pairs, err := p.Pairs()
	if err != nil {
		return inventory.Query{}, err
	}
	selector, err := labels.Parse(s.Selector)
	if err != nil {
		return inventory.Query{}, cli.Usagef("--selector %q: %v", s.Selector, err)
	}
	if i := slices.IndexFunc(t, func(one Target) bool { return one.Name != "" }); i >= 0 && !selector.Empty() {
		return inventory.Query{}, cli.Usagef("-l selects among all objects of a kind: give either -l or the name %s", t[i].Name)
	}
	return inventory.Query{Pairs: pairs, Selector: selector, Kinds: t.kinds()}, nil
}

func (t List) kinds() []authority.Kind {
	var out []authority.Kind
	for _, one := range t {
		if !slices.ContainsFunc(out, func(k authority.Kind) bool { return k.Name == one.Kind.Name }) {
			out = append(out, one.Kind)
		}
	}
	return out
}
