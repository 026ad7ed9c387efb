// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
)

// A name with a typing error is no installation's, even if the name of an installation, or of one of its policies, begins or goes on with it.
func TestTheNameOfAnInstallation(t *testing.T) {
	own := []owned{
		{GroupVersionResource: admission[1], name: "poundlock-scale"}, {GroupVersionResource: presence.Webhooks[0], name: "poundlock-of-mine"},
	}
	for name, want := range map[string]bool{
		"poundlock-of-mine": true, "poundlock": false, "p": false, "poundlock-scale": false, "poundlock-of-mine-2": false, "nosuch": false,
	} {
		if got := configured(own, name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
