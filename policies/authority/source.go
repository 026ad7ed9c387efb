// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

// Source is the API from which the pair is mirrored: the authoritative one, and during a move, its origin. It is Unset if authority is not stored yet, or
// if a move has no origin, which is never inferred from the request. Then nothing is mirrored.
func Source(s Shape) API {
	switch s.Current {
	case MachineAPI, ClusterAPI:
		return s.Current
	case Migrating:
		return s.SynchronizedAPI
	}
	return Unset
}

// Authoritative is the API whose controllers act now. A move changes that only when its switch is stored. An object without a status follows its spec,
// where an absent field means Machine API. Unset: a move without an origin.
func Authoritative(s Shape) API {
	switch {
	case s.Current != Unset:
		return Source(s)
	case s.Requested == ClusterAPI:
		return ClusterAPI
	}
	return MachineAPI
}
