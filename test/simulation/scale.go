// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
)

// candidate is what decides which Machine a set gives up first.
type candidate struct {
	name            string
	marked, running bool
	created         time.Time
}

// surplus returns the n Machines that a set gives up: those marked for it, those that do not run, the youngest.
func surplus[M any](machines []M, n int, standing func(M) candidate) []M {
	if n <= 0 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(machines), func(a, b M) int { return order(standing(a), standing(b)) })
	return sorted[:min(n, len(sorted))]
}

func order(a, b candidate) int {
	return cmp.Or(first(a.marked, b.marked), first(!a.running, !b.running), b.created.Compare(a.created), cmp.Compare(a.name, b.name))
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// replicas is what a set asks for: one, where it asks for nothing.
func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

func same(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }
