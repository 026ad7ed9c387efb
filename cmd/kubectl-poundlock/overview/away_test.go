// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/overview"
)

func TestAway(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	lease := func(ago time.Duration) overview.Lease {
		return overview.Lease{Renewed: now.Add(-ago), Duration: 15 * time.Second}
	}
	for sentence, c := range map[string]struct {
		presence overview.Presence
		lease    overview.Lease
		says     string
	}{
		"all is well":                      {overview.Answers, lease(time.Second), ""},
		"all is well, and nobody may look": {overview.NotAsked, overview.Lease{}, ""},
		"a renewal that is late":           {overview.Answers, lease(29 * time.Second), ""},
		"nobody leads":                     {overview.Answers, lease(31 * time.Second), "led since 2026-01-01T11:59:29Z (31s)"},
		"nobody leads, and nobody may ask": {overview.NotAsked, lease(time.Hour), "led since 2026-01-01T11:00:00Z (60m)"},
		"all replicas are down":            {overview.Silent, lease(time.Hour), "answer since 2026-01-01T11:00:00Z (60m)"},
		"the API server does not reach it": {overview.Silent, lease(time.Second), "does not reach"},
		"it is not there":                  {overview.Silent, overview.Lease{}, "Is it installed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := overview.Away(c.presence, c.lease, now); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}
}
