// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

// Source returns the API from which the pair is mirrored: the authoritative API or, during a move, the API that authority comes from. It returns Unset, and
// nothing is mirrored, if authority is not stored yet, or if status.synchronizedAPI does not name the API that a move comes from. That API is never inferred
// from the request.
func Source(s Shape) API {
	switch s.Current {
	case MachineAPI, ClusterAPI:
		return s.Current
	case Migrating:
		return s.SynchronizedAPI
	}
	return Unset
}

// Authoritative returns the API whose controllers act now. During a move that is the API that authority comes from, until the switch is stored. For an object
// without a status, spec.authoritativeAPI decides; if that is absent, it is Machine API. Authoritative returns Unset for a move without an origin.
func Authoritative(s Shape) API {
	switch {
	case s.Current != Unset:
		return Source(s)
	case s.Requested == ClusterAPI:
		return ClusterAPI
	}
	return MachineAPI
}
