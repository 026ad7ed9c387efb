// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Presence is whether Poundlock's webhooks answer.
type Presence int

// The presences. NotAsked means that the user may not send the trial request.
const (
	NotAsked Presence = iota
	Answers
	Silent
)

// Lease has the fields of the managers' Lease. It is zero if there is none, or if the user may not read it.
type Lease struct {
	Renewed  time.Time
	Duration time.Duration
}

// held reports whether a manager has the Lease.
func (l Lease) held(now time.Time) bool {
	return !l.Renewed.IsZero() && now.Sub(l.Renewed) <= 2*l.Duration
}

// Away returns the sentence that Poundlock does not answer or that no manager leads, since when, and where to read more; "" if all is well or unknown.
func Away(p Presence, l Lease, now time.Time) string {
	why := away(p, l, now)
	switch {
	case why == "":
		return ""
	case p == Silent && l.held(now):
		return why + " What to do: kubectl poundlock explain PoundlockNotEnforced"
	}
	return why + " What to do: kubectl poundlock explain PoundlockAway"
}

// stale is the consequence of a silence.
const stale = ". Nothing is mirrored or migrated, and the output below may be outdated."

func away(p Presence, l Lease, now time.Time) string {
	since := fmt.Sprintf("since %s (%s)", l.Renewed.UTC().Format(time.RFC3339), duration.HumanDuration(now.Sub(l.Renewed)))
	switch {
	case p == Silent && l.held(now):
		return "Poundlock's manager runs, but the API server does not reach the manager's webhooks."
	case p == Silent && l.Renewed.IsZero():
		return "Poundlock does not answer, and no Lease was found that shows since when. " +
			"Check that Poundlock is installed, that its manager runs, and that --namespaces is right."
	case p == Silent:
		return "Poundlock does not answer, and no manager has renewed its Lease " + since + stale
	case !l.Renewed.IsZero() && !l.held(now):
		return "No manager of Poundlock has renewed the Lease " + since + stale
	}
	return ""
}
