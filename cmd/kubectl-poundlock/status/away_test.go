// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/status"
)

func TestAway(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	lease := func(ago time.Duration) status.Lease {
		return status.Lease{Renewed: now.Add(-ago), Duration: 15 * time.Second}
	}
	for sentence, c := range map[string]struct {
		presence status.Presence
		lease    status.Lease
		says     string
	}{
		"all is well":                      {status.Answers, lease(time.Second), ""},
		"all is well, and nobody may look": {status.NotAsked, status.Lease{}, ""},
		"a renewal that is late":           {status.Answers, lease(29 * time.Second), ""},
		"nobody leads":                     {status.Answers, lease(31 * time.Second), "led since 2026-01-01T11:59:29Z (31s)"},
		"nobody leads, and nobody may ask": {status.NotAsked, lease(time.Hour), "led since 2026-01-01T11:00:00Z (60m)"},
		"all replicas are down":            {status.Silent, lease(time.Hour), "answer since 2026-01-01T11:00:00Z (60m)"},
		"the API server does not reach it": {status.Silent, lease(time.Second), "does not reach"},
		"it is not there":                  {status.Silent, status.Lease{}, "Is it installed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := status.Away(c.presence, c.lease, now); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}
}
