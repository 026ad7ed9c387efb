// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"testing"

	"github.com/poundlock/poundlock/test/stories"
)

// enough is the most states that a walk of `make test` visits; a walk that has more is not quick.
const enough = 400_000

// TestQuickWalks is the bounded form of `make proof WHAT=walk`: every walk here is whole.
func TestQuickWalks(t *testing.T) {
	for _, b := range bounds() {
		if !b.quick {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			r := b.walk(actual(), enough)
			if r.flaw != nil {
				t.Fatal(r.flaw)
			}
			if !r.whole {
				t.Errorf("%v: too many for a quick walk", r)
			}
			t.Log(r)
		})
	}
}

// TestPlanted plants a bug at a time: a walk that does not find it proves nothing. Without -long it draws every fourth, from a random one on.
func TestPlanted(t *testing.T) {
	step := stories.Times(4, 1)
	first := rand.IntN(step) //nolint:gosec // a draw
	for i, m := range mutants() {
		if i%step != first {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r := actual()
			m.plant(&r)
			found := m.walk(r, 2*enough)
			if found.flaw == nil {
				t.Fatalf("not found in %v", found)
			}
			t.Logf("%v\n%v", found, found.flaw)
		})
	}
}
