// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"
)

// Pair is a namespace of the Machine API and the namespace of Cluster API that has the mirrors of its objects.
type Pair struct{ MachineAPI, ClusterAPI string }

// Pairs are all namespaces that Poundlock manages. No namespace is in two pairs.
type Pairs []Pair

// Of returns the pair to which a namespace belongs, on either side.
func (p Pairs) Of(namespace string) (Pair, bool) {
	for _, pair := range p {
		if pair.MachineAPI == namespace || pair.ClusterAPI == namespace {
			return pair, true
		}
	}
	return Pair{}, false
}

// ParsePairs returns the pairs that are given as texts of the form MACHINE-API-NAMESPACE=CLUSTER-API-NAMESPACE, the values of --namespaces. It returns an error
// for a text of another form, for a namespace that is in two pairs, and for an empty list.
func ParsePairs(texts []string) (Pairs, error) {
	var out Pairs
	for _, text := range texts {
		mapi, capi, ok := strings.Cut(text, "=")
		if !ok || mapi == "" || capi == "" || mapi == capi {
			return nil, fmt.Errorf("namespaces %q: want two different names, MACHINE-API-NAMESPACE=CLUSTER-API-NAMESPACE", text)
		}
		for _, ns := range []string{mapi, capi} {
			if _, taken := out.Of(ns); taken {
				return nil, fmt.Errorf("namespaces %q: %s is in two pairs", text, ns)
			}
		}
		out = append(out, Pair{MachineAPI: mapi, ClusterAPI: capi})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("namespaces: name at least one pair, MACHINE-API-NAMESPACE=CLUSTER-API-NAMESPACE")
	}
	return out, nil
}
