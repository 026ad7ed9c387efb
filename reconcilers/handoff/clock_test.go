// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"testing"
	"time"

	"github.com/poundlock/poundlock/policies/authority"
	"github.com/poundlock/poundlock/test/stories"
)

// TestAClockThatJumps moves authority there and back under a clock that goes on and back by days. What it says is written down; it decides nothing, so
// the writes are as many as under a clock that goes well.
func TestAClockThatJumps(t *testing.T) {
	stories.Long(t)
	kinds(t, func(w *world) {
		well := w.thereAndBack()
		other := newWorld(w.T, w.kind.Name)
		days := []time.Duration{0, 3, -3, 400, -400}
		looks := 0
		other.r.now = func() time.Time {
			looks++
			return time.Now().Add(24 * time.Hour * days[looks%len(days)])
		}
		if jumping := other.thereAndBack(); jumping != well {
			w.Errorf("%d writes, and %d under a clock that goes well", jumping, well)
		}
		if looks == 0 {
			w.Error("nobody looked at the clock")
		}
	})
}

func (w *world) thereAndBack() (writes int64) {
	w.Helper()
	w.machineAPI(authority.MachineAPI)
	w.waitSettled(authority.MachineAPI)
	for _, to := range []authority.API{authority.ClusterAPI, authority.MachineAPI} {
		w.request(to)
		w.waitSettled(to)
		w.authoritative(to)
		if n := w.pass(); n != 0 {
			w.Errorf("an idle pass wrote %d times", n)
		}
	}
	return w.writes.Load()
}
