// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/standing"
	"github.com/poundlock/poundlock/policies/authority"
)

func TestProgressOf(t *testing.T) {
	there := standing.Standing{Requested: authority.ClusterAPI, Current: authority.ClusterAPI}
	moving := standing.Standing{Requested: authority.ClusterAPI, Current: authority.Migrating}
	rest := standing.Standing{Requested: authority.MachineAPI, Current: authority.MachineAPI}
	want := []Progress{{To: authority.ClusterAPI, There: 1, Moving: 1, All: 2}}
	if diff := cmp.Diff(want, ProgressOf([]standing.Standing{there, moving, rest})); diff != "" {
		t.Error(diff)
	}
	if got := ProgressOf([]standing.Standing{there, rest}); got != nil {
		t.Errorf("nothing moves: %v", got)
	}
}
