// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import "time"

// Migration is the state of the feature gate MachineAPIMigration, as it is stored in the API server.
type Migration struct {
	// Off reports that the gate is off.
	Off bool
	// Since is the time at which the gate was last turned on, or a later time. It is zero if that is not known.
	Since time.Time
}

// GateLag is for how long after the gate was turned on a controller of the Machine API may still act as if the gate were off.
const GateLag = 2 * time.Minute

// GateWas is the state of the feature gate MachineAPIMigration at the time at which an object was deleted, and now.
type GateWas string

const (
	// GateOn: the gate was on, and is on now.
	GateOn GateWas = ""
	// GateOff: the gate is off now.
	GateOff GateWas = "Off"
	// GateOffThen: the gate is on now, but the object may have been deleted while the gate was off.
	GateOffThen GateWas = "OffThen"
)

// When returns the state of the gate for an object that was deleted at the time deleted.
func (m Migration) When(deleted time.Time) GateWas {
	switch {
	case m.Off:
		return GateOff
	case !m.Since.IsZero() && deleted.Before(m.Since.Add(GateLag)):
		return GateOffThen
	}
	return GateOn
}
