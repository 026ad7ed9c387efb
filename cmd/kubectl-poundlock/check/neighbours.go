// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/policies/authority"
)

// Neighbour is somebody else who writes to the objects, and what changes for them.
type Neighbour struct {
	authority.Neighbour
	Objects []string
}

// once gathers what is said of objects that are still to move, each once.
func once(findings []readiness.Finding, said func(readiness.Finding) string) []string {
	var out []string
	for _, f := range findings {
		if text := said(f); f.Readiness != readiness.There && text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// Neighbours gathers those who write to the objects, each once, in the order of the objects.
func Neighbours(findings []readiness.Finding) []Neighbour {
	var out []Neighbour
	for _, f := range findings {
		for _, n := range f.Neighbours {
			i := slices.IndexFunc(out, func(o Neighbour) bool { return o.Neighbour == n })
			if i < 0 {
				i, out = len(out), append(out, Neighbour{Neighbour: n})
			}
			out[i].Objects = append(out[i].Objects, f.Ref())
		}
	}
	return out
}
