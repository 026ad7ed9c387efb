// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"slices"

	"github.com/poundlock/poundlock/conversion/platforms"
	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/policies/cel"
)

// celPolicies returns the policies in CEL, each followed by its binding. They correspond to the rules that need no lookup, and to the rules with parameters.
func celPolicies() ([]any, error) {
	o := cel.Options{Identities: authority.OpenShiftIdentities(), Pairs: authority.Pairs{Pair()}, Labels: Labels()}
	for _, p := range platforms.List() {
		o.InfraClusters = append(o.InfraClusters, p.InfraCluster.GroupVersion().WithResource(p.InfraCluster.Plural))
		if r := p.InfraInstance; !r.Empty() {
			o.InfraInstances = append(o.InfraInstances, r.GroupVersion().WithResource(r.Plural).GroupResource())
		}
	}
	all, err := cel.Policies(o)
	var out []any
	for _, p := range slices.Concat(all, cel.ScalePolicies(o), cel.BesidePolicies(o), cel.ForSetPolicies(o), cel.HookedPolicies(o), cel.PastHooksPolicies(o),
		cel.KeptPolicies(o)) {
		out = append(out, p.Policy, p.Binding)
	}
	return out, err
}
