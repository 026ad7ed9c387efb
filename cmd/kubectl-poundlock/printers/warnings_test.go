// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package printers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/printers"
)

func TestWhole(t *testing.T) {
	for name, c := range map[string]struct{ in, want []string }{
		"none":                        {nil, nil},
		"a short one":                 {[]string{"a [x/y]"}, []string{"a [x/y]"}},
		"a command":                   {[]string{"to move:… [x/y]", "kubectl get a [x/y]"}, []string{"to move: kubectl get a [x/y]"}},
		"three parts":                 {[]string{"a… [x/y]", "…b… [x/y]", "…c [x/y]"}, []string{"a b c [x/y]"}},
		"without a rule":              {[]string{"a…", "…b"}, []string{"a b"}},
		"a sentence of the same rule": {[]string{"a… [x/y]", "b [x/y]"}, []string{"a… [x/y]", "b [x/y]"}},
		"another rule's":              {[]string{"a… [x/y]", "…b [x/z]"}, []string{"a… [x/y]", "…b [x/z]"}},
		"one whose start is missing":  {[]string{"…b [x/z]"}, []string{"…b [x/z]"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, printers.Whole(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
