// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cel_test

import (
	"testing"

	"github.com/poundlock/poundlock/policies"
)

// BenchmarkDecide is what a policy adds to a request: an edit of an object whose spec is locked, and one of its labels.
func BenchmarkDecide(b *testing.B) {
	e := compile(b)
	edit := update(b, template(big(func(int) string { return "120" })), template(map[string]any{}))
	free := update(b, template(map[string]any{"a": 1}), template(map[string]any{"a": 1}))
	for name, c := range map[string]policies.Change{"refused, 64 KiB": edit, "let through": free} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, p := range e {
					p.decide(b.Context(), c)
				}
			}
		})
	}
}
