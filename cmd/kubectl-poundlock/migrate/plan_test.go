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
		"a move that is to end":     {onTheWay("a"), authority.MachineAPI, "cancel the move"},
		"one that goes back":        {back("a"), authority.MachineAPI, "on its way"},
		"one that is to come again": {back("a"), authority.ClusterAPI, "move"},
	} {
		plan := migrate.Plan(fleetOf(t, c.pair).Pairs, []readiness.Finding{{To: c.to, Readiness: readiness.Ready}})
		if got := plan[0].Text(); got != c.want {
			t.Errorf("%s: %s, want %s", sentence, got, c.want)
		}
	}
}

// A person confirms what happens: a request for the API that an object is leaving cancels a move, and begins none.
func TestTheQuestionNamesWhatIsCancelled(t *testing.T) {
	begun, waits := onTheWay("a"), pair{"b", "1", "ClusterAPI", "MachineAPI", "False", "NotSynchronized"}
	for want, c := range map[string]struct {
		to    authority.API
		pairs []pair
	}{
		"":                               {authority.ClusterAPI, []pair{begun, waits}},
		"Move 2 objects to Cluster API?": {authority.ClusterAPI, []pair{rest("c"), rest("d")}},
		"Cancel the move of 1 object, so that authority stays with Machine API?":   {authority.MachineAPI, []pair{begun}},
		"Cancel the moves of 2 objects, so that authority stays with Machine API?": {authority.MachineAPI, []pair{begun, waits}},
		"Move 1 object to Machine API, and cancel the move of 1 object?":           {authority.MachineAPI, []pair{begun, arrived("c")}},
	} {
		f := fleetOf(t, c.pairs...)
		var findings []readiness.Finding
		for range f.Pairs {
			findings = append(findings, readiness.Finding{To: c.to, Readiness: readiness.Ready})
		}
		if got := migrate.Question(migrate.Plan(f.Pairs, findings), c.to); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
