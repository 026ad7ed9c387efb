// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import "testing"

// TestPatterns: Cluster API's manager reads its flag as a line of CSV, and an empty text as no pattern.
func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{"": "", "a/.*": "a/.*", "a/.*,b/.*": "a/.*,b/.*", `"a{1,2}",b`: "a{1,2},b"} {
		var p patterns
		if err := p.Set(text); err != nil || p == nil || p.String() != want {
			t.Errorf("%q: %q, %v", text, p.String(), err)
		}
	}
	for _, text := range []string{"(", `"a`} {
		var p patterns
		if p.Set(text) == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
