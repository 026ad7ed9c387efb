// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// The work queue holds a Machine once: an event takes the place of the time at which the pass before wanted to look again. So a pass that heeds
// what the actuator wished says itself when the next one is, even if the wish ends before the pass does.
func TestAPassThatHeedsAWishAsksForTheNextOne(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for sentence, passes := range map[string]func(*machines) []passStep{
		"of a Machine that is to be": func(c *machines) []passStep {
			return []passStep{{name: "Exists", take: c.exists}, {name: "Rest", take: c.rest}}
		},
		"of a Machine that is being deleted": func(c *machines) []passStep { return []passStep{{name: "Delete", take: c.delete}} },
	} {
		t.Run(sentence, func(t *testing.T) {
			c := &machines{pace: usualPace()}
			m := &machinev1beta1.Machine{}
			c.wishes.grant(m, start, time.Second)
			now := start.Add(time.Second - 3*time.Millisecond)
			p := &pass{machine: m, stored: m, now: func() time.Time {
				now = now.Add(2 * time.Millisecond)
				return now
			}}
			for _, s := range passes(c) {
				halt, err := s.take(context.Background(), p)
				p.note(s, halt, err)
			}
			if left := c.wishes.left(m, p.now()); left != 0 {
				t.Fatalf("the wish is not over: %s are left", left)
			}
			if p.again <= 0 || p.again > time.Second {
				t.Errorf("the pass looks again after %s, want as long as the wish had to go", p.again)
			}
		})
	}
}
