// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/inventory"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/migrate"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/readiness"
	"github.com/poundlock/poundlock/policies/authority"
)

// pair is a Machine with spec, status and the condition AuthoritySettled.
type pair struct{ name, version, spec, status, settled, reason string }

func (p pair) document() string {
	return fmt.Sprintf(`{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine","metadata":{"name":%q,"namespace":"openshift-machine-api","uid":"1","resourceVersion":%q},
"spec":{"authoritativeAPI":%q},"status":{"authoritativeAPI":%q,"synchronizedAPI":"MachineAPI","conditions":[{"type":"AuthoritySettled","status":%q,"reason":%q,"message":"because"}]}}`,
		p.name, p.version, p.spec, p.status, p.settled, p.reason)
}

func rest(name string) pair { return pair{name, "1", "MachineAPI", "MachineAPI", "True", "Settled"} }
func onTheWay(name string) pair {
	return pair{name, "2", "ClusterAPI", "Migrating", "False", "WaitingForPause"}
}
func back(name string) pair {
	return pair{name, "3", "MachineAPI", "Migrating", "False", "HandoffStarted"}
}
func arrived(name string) pair { return pair{name, "3", "ClusterAPI", "ClusterAPI", "True", "Settled"} }

func fleetOf(t *testing.T, pairs ...pair) *inventory.Fleet {
	t.Helper()
	var documents []string
	for _, p := range pairs {
		documents = append(documents, p.document())
	}
	f, err := inventory.FromFiles([]string{"-"}, strings.NewReader(strings.Join(documents, "\n---\n")), authority.Pairs{inventory.DefaultPair})
	if err != nil || len(f.Problems) > 0 {
		t.Fatal(err, f.Problems)
	}
	return f
}

func begin(t *testing.T, atOnce int, pairs ...pair) *migrate.Run {
	t.Helper()
	f := fleetOf(t, pairs...)
	var findings []readiness.Finding
	for range f.Pairs {
		findings = append(findings, readiness.Finding{To: authority.ClusterAPI, Readiness: readiness.Ready})
	}
	return migrate.NewRun(migrate.Plan(f.Pairs, findings), authority.ClusterAPI, atOnce, time.Minute, start)
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func asked(out migrate.Outcome) string {
	var names []string
	for _, p := range out.Ask {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

func TestNoMoreAreOnTheWayThanMayBe(t *testing.T) {
	r := begin(t, 2, rest("a"), rest("b"), rest("c"))
	f := fleetOf(t, rest("a"), rest("b"), rest("c"))
	out := r.Look(f, start)
	if asked(out) != "a b" {
		t.Fatalf("asked for %s", asked(out))
	}
	r.Asked(out.Ask[0], start)
	r.Asked(out.Ask[1], start)
	if out = r.Look(f, start); asked(out) != "" || len(out.Lines) != 0 || out.Failed {
		t.Fatalf("what is watched is a moment behind: %+v", out)
	}
	if out = r.Look(fleetOf(t, onTheWay("a"), onTheWay("b"), rest("c")), start); asked(out) != "" || len(out.Lines) != 2 {
		t.Errorf("asked for %s, lines %v", asked(out), out.Lines)
	}
	if out = r.Look(fleetOf(t, onTheWay("a"), onTheWay("b"), rest("c")), start); len(out.Lines) != 0 {
		t.Errorf("told twice: %v", out.Lines)
	}
	if out = r.Look(fleetOf(t, arrived("a"), onTheWay("b"), rest("c")), start.Add(3*time.Second)); asked(out) != "c" || !out.Lines[0].Good ||
		out.Lines[0].After != 3*time.Second {
		t.Errorf("asked for %s, lines %v", asked(out), out.Lines)
	}
	r.Asked(out.Ask[0], start)
	if out = r.Look(fleetOf(t, arrived("a"), arrived("b"), arrived("c")), start); !out.Done {
		t.Errorf("not done: %+v", out)
	}
}

func TestARunStops(t *testing.T) {
	for sentence, c := range map[string]struct {
		now      pair
		after    time.Duration
		failed   bool
		timedOut bool
		ends     bool
	}{
		"not while it goes on":              {now: onTheWay("a")},
		"not while the last one settles":    {now: pair{"a", "2", "ClusterAPI", "MachineAPI", "False", "WaitingForResume"}},
		"at what a person has to fix":       {now: pair{"a", "2", "ClusterAPI", "MachineAPI", "False", "NotSynchronized"}, failed: true},
		"at a deletion":                     {now: pair{"a", "2", "ClusterAPI", "MachineAPI", "False", "DeletionInProgress"}, failed: true},
		"at a Cluster that is paused":       {now: pair{"a", "2", "ClusterAPI", "ClusterAPI", "False", "PausedElsewhere"}, failed: true},
		"when somebody takes the wish back": {now: pair{"a", "3", "MachineAPI", "MachineAPI", "True", "Settled"}, failed: true, ends: true},
		"when it is gone":                   {now: rest("other"), failed: true, ends: true},
		"when it takes too long":            {now: onTheWay("a"), after: 2 * time.Minute, timedOut: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := begin(t, 0, rest("a"), rest("b"))
			r.Asked(r.Look(fleetOf(t, rest("a"), rest("b")), start).Ask[0], start)
			out := r.Look(fleetOf(t, c.now, rest("b")), start.Add(c.after))
			if out.Failed != c.failed || out.TimedOut != c.timedOut {
				t.Errorf("%+v", out)
			}
			if text := r.Tally().Text(""); c.ends != strings.Contains(text, "0 done, 0 on the way, 1 cancelled or deleted, 1 not requested") || r.Tally().Total() != 2 {
				t.Error(text)
			}
			if stopped := c.failed || c.timedOut; stopped == (asked(out) == "b") {
				t.Errorf("asked for %q", asked(out))
			}
		})
	}
}

// What its new API has already cannot be taken back, as --cancel then says too.
func TestOnlyWhatHasNotArrivedIsTakenBack(t *testing.T) {
	for sentence, c := range map[string]struct {
		now             pair
		contains, never string
	}{
		"it is on the way":                   {onTheWay("a"), "give --cancel instead of --to", "cannot be cancelled"},
		"it is there, and its Cluster rests": {pair{"a", "2", "ClusterAPI", "ClusterAPI", "False", "PausedElsewhere"}, "Cluster API is already authoritative for 1 object that still waits, as shown above", "--cancel"},
		"it has arrived":                     {arrived("a"), "", "."},
	} {
		r := begin(t, 0, rest("a"))
		r.Asked(r.Look(fleetOf(t, rest("a")), start).Ask[0], start)
		r.Look(fleetOf(t, c.now), start)
		if text := r.Cancels(); !strings.Contains(text, c.contains) || strings.Contains(text, c.never) {
			t.Errorf("%s: %q", sentence, text)
		}
	}
}

func TestARequestThatWasOutOfDateIsSentAgainWhenTheObjectIsNew(t *testing.T) {
	r := begin(t, 0, rest("a"))
	r.Stale(r.Look(fleetOf(t, rest("a")), start).Ask[0])
	if out := r.Look(fleetOf(t, rest("a")), start); asked(out) != "" {
		t.Error("the same request was sent again")
	}
	newer := rest("a")
	newer.version = "9"
	if out := r.Look(fleetOf(t, newer), start); asked(out) != "a" {
		t.Error("it was not sent again")
	}
}

func TestARunGoesOnWithWhatWasAskedForBefore(t *testing.T) {
	r := begin(t, 1, onTheWay("a"), rest("b"))
	if out := r.Look(fleetOf(t, onTheWay("a"), rest("b")), start); asked(out) != "" {
		t.Errorf("asked for %s while one is on the way", asked(out))
	}
	if out := r.Look(fleetOf(t, arrived("a"), rest("b")), start); asked(out) != "b" {
		t.Errorf("asked for %s", asked(out))
	}
}

// The estimate assumes that the rest takes as long as what has arrived.
func TestTheRestIsEstimated(t *testing.T) {
	run := begin(t, 0, rest("a"), rest("b"), rest("c"))
	for _, name := range []string{"a", "b", "c"} {
		run.Asked(fleetOf(t, rest(name)).Pairs[0], start)
	}
	out := run.Look(fleetOf(t, arrived("a"), onTheWay("b"), onTheWay("c")), start.Add(10*time.Second))
	for _, l := range out.Lines {
		if l.Good && (l.Arrived != 1 || l.Total != 3 || l.Left != 20*time.Second) {
			t.Errorf("%+v", l)
		}
	}
	if !slices.ContainsFunc(out.Lines, func(l migrate.Line) bool { return l.Good }) {
		t.Errorf("%+v", out.Lines)
	}
}

// A move that is taken back shows that it goes back. What it waited for is no reason to stop, as status has it until Poundlock has seen the request.
func TestARunThatGoesBack(t *testing.T) {
	begun := pair{"a", "1", "ClusterAPI", "Migrating", "False", "NotSynchronized"}
	fleet := fleetOf(t, begun)
	r := migrate.NewRun(migrate.Plan(fleet.Pairs, []readiness.Finding{{To: authority.MachineAPI, Readiness: readiness.Ready}}), authority.MachineAPI, 0, time.Minute, start)
	r.Asked(r.Look(fleet, start).Ask[0], start)
	for _, step := range []struct {
		now  pair
		want string
	}{
		{pair{"a", "2", "MachineAPI", "Migrating", "False", "NotSynchronized"}, "authority goes back (NotSynchronized)"},
		{pair{"a", "3", "MachineAPI", "Migrating", "False", "Pausing"}, "authority goes back (Pausing)"},
		{pair{"a", "4", "MachineAPI", "MachineAPI", "True", "Settled"}, "Machine API is authoritative"},
	} {
		out := r.Look(fleetOf(t, step.now), start)
		if len(out.Lines) != 1 || out.Lines[0].What != step.want || out.Failed {
			t.Errorf("%+v, want %s", out, step.want)
		}
		if text := r.Cancels(); text != "" {
			t.Errorf("%s: what goes back can be cancelled: %q", step.want, text)
		}
	}
}
