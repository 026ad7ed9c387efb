// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "testing"

// A pass of ten requests that fails at one of them and starts again succeeds in the end. It does not always meet the fault at the same request.
func TestOneOf(t *testing.T) {
	const n, turns = 10, 1000
	when := OneOf(n, func(r Request) bool { return r.Verb == "get" })
	places := map[int]int{}
	for turn := range turns {
		hits := 0
		for at := range n {
			if when(Request{Verb: "watch"}) {
				t.Fatal("it matches what it is not asked about")
			}
			if when(Request{Verb: "get"}) {
				hits++
				places[at]++
			}
		}
		if hits != 1 {
			t.Fatalf("of ten requests %d are hit, in turn %d", hits, turn)
		}
	}
	for at := range n {
		if places[at] < turns/n/2 {
			t.Errorf("place %d is hit %d times of %d", at, places[at], turns)
		}
	}
}
