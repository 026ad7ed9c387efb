// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package amount_test

import (
	"testing"

	"github.com/poundlock/poundlock/internal/amount"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		n         int
		one, want string
	}{
		{0, "Machine", "0 Machines"},
		{1, "Machine", "1 Machine"},
		{2, "Machine", "2 Machines"},
		{1, "control plane Machine", "1 control plane Machine"},
		{3, "more field", "3 more fields"},
		{1, "index", "1 index"},
		{4, "index", "4 indexes"},
	} {
		if got := amount.Of(c.n, c.one); got != c.want {
			t.Errorf("%d of %q: %q, want %q", c.n, c.one, got, c.want)
		}
	}
}
