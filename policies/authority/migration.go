// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import "time"

// Migration is the feature gate MachineAPIMigration, as the API server has it.
type Migration struct {
	// Off reports that the gate is off.
	Off bool
	// Since is when it was last turned on, or later; zero: nobody knows.
	Since time.Time
}

// GateLag is how long a controller of the Machine API may go on as if the gate were still off, after it was turned on.
const GateLag = 2 * time.Minute

// GateWas is what the feature gate was when an object was deleted.
type GateWas string

const (
	// GateOn: the gate was on, and still is.
	GateOn GateWas = ""
	// GateOff: the gate is off now.
	GateOff GateWas = "Off"
	// GateOffThen: the gate is on again, and the object may have been deleted while it was off.
	GateOffThen GateWas = "OffThen"
)

// When returns what the gate was when an object was deleted, at that time.
func (m Migration) When(deleted time.Time) GateWas {
	switch {
	case m.Off:
		return GateOff
	case !m.Since.IsZero() && deleted.Before(m.Since.Add(GateLag)):
		return GateOffThen
	}
	return GateOn
}
