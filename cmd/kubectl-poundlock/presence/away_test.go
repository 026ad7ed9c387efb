// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package presence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/presence"
)

func TestAway(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	lease := func(ago time.Duration) presence.Lease {
		return presence.Lease{Renewed: now.Add(-ago), Duration: 15 * time.Second}
	}
	for sentence, c := range map[string]struct {
		presence presence.Presence
		lease    presence.Lease
		contains string
	}{
		"all is well":                      {presence.Answers, lease(time.Second), ""},
		"all is well, and nobody may look": {presence.NotAsked, presence.Lease{}, ""},
		"a renewal that is late":           {presence.Answers, lease(29 * time.Second), ""},
		"nobody leads":                     {presence.Answers, lease(31 * time.Second), "renewed the Lease since 2026-01-01T11:59:29Z (31s)"},
		"nobody leads, and nobody may ask": {presence.NotAsked, lease(time.Hour), "renewed the Lease since 2026-01-01T11:00:00Z (60m)"},
		"all replicas are down":            {presence.Silent, lease(time.Hour), "renewed its Lease since 2026-01-01T11:00:00Z (60m)"},
		"the API server does not reach it": {presence.Silent, lease(time.Second), "does not reach"},
		"it is not there":                  {presence.Silent, presence.Lease{}, "Check that Poundlock is installed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := presence.Away(c.presence, c.lease, now); (got == "") != (c.contains == "") || !strings.Contains(got, c.contains) {
				t.Errorf("%q, want %q", got, c.contains)
			}
		})
	}
}
