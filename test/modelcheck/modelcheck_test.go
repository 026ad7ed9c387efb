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

// drawn returns whether the i-th of what a test could walk is its turn: every step-th is, from a random one on. -long walks all.
func drawn(step int) func(i int) bool {
	step = stories.Times(step, 1)
	first := rand.IntN(step) //nolint:gosec // a draw
	return func(i int) bool { return i%step == first }
}

// TestQuickWalks is the bounded form of `make proof WHAT=walk`: every walk here is whole.
func TestQuickWalks(t *testing.T) {
	turn := drawn(2)
	for i, b := range bounds() {
		if !b.quick || !turn(i) {
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

// TestPlanted plants a bug at a time: a walk that does not find it proves nothing.
func TestPlanted(t *testing.T) {
	turn := drawn(4)
	for i, m := range mutants() {
		if !turn(i) {
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
