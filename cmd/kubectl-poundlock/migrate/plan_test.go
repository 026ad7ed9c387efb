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

// A request whose move has not begun is taken back at once: nothing is waited for.
func TestARequestIsTakenBack(t *testing.T) {
	for sentence, c := range map[string]struct {
		pair pair
		to   authority.API
		want string
	}{
		"nothing is requested":      {rest("a"), authority.ClusterAPI, "move"},
		"a request waits":           {pair{"a", "1", "ClusterAPI", "MachineAPI", "False", "NotSynchronized"}, authority.ClusterAPI, "on its way"},
		"it is asked for no longer": {pair{"a", "1", "ClusterAPI", "MachineAPI", "False", "NotSynchronized"}, authority.MachineAPI, "take the request back"},
		"nor is one to come back":   {pair{"a", "1", "MachineAPI", "ClusterAPI", "False", "WaitingForPause"}, authority.ClusterAPI, "take the request back"},
		"a move that goes on":       {onTheWay("a"), authority.ClusterAPI, "on its way"},
	} {
		plan := migrate.Plan(fleetOf(t, c.pair).Pairs, []readiness.Finding{{To: c.to, Readiness: readiness.Ready}})
		if got := plan[0].Text(); got != c.want {
			t.Errorf("%s: %s, want %s", sentence, got, c.want)
		}
	}
}
