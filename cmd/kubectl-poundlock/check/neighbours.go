// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/policies/authority"
)

// Neighbour is another writer of the objects, and what changes for it.
type Neighbour struct {
	authority.Neighbour
	Objects []string
}

// Neighbours gathers the other writers, each once, in the order of the objects.
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

// Preparation is what to do before objects move, and those objects.
type Preparation struct {
	Text    string
	Objects []string
}

// Preparations gathers what to do before the objects move, each once, in their order. What has moved needs none.
func Preparations(findings []readiness.Finding) []Preparation {
	var out []Preparation
	for _, f := range findings {
		if f.Readiness == readiness.There {
			continue
		}
		for _, text := range f.Preparations {
			i := slices.IndexFunc(out, func(p Preparation) bool { return p.Text == text })
			if i < 0 {
				i, out = len(out), append(out, Preparation{Text: text})
			}
			out[i].Objects = append(out[i].Objects, f.Ref())
		}
	}
	return out
}
