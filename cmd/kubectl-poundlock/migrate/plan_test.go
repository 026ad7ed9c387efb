// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"testing"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/migrate"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/policies/authority"
)

// What the user may not read, Poundlock reads: it decides whether the move starts.
func TestWhatIsNotReadIsAskedFor(t *testing.T) {
	for reason, want := range map[string]migrate.Action{
		readiness.ReasonUnread: migrate.Ask, readiness.ReasonUnknown: migrate.Leave,
	} {
		f := fleetOf(t, rest("a"))
		plan := migrate.Plan(f.Pairs, []readiness.Finding{{To: authority.ClusterAPI, Readiness: readiness.Unknown, Reason: reason}})
		if got := plan[0].Action; got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}
