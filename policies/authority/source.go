// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

// Source is the API from which the pair is mirrored: which API is authoritative, and while authority moves, where it comes from.
// Unset: nobody has settled it yet, or a move has no origin, which is never guessed from what is asked for: nothing is
// mirrored.
func Source(s Shape) API {
	switch s.Current {
	case MachineAPI, ClusterAPI:
		return s.Current
	case Migrating:
		return s.SynchronizedAPI
	}
	return Unset
}

// Authoritative is the API whose controllers act now. A move has not changed that before its switch is stored, and an object
// that no one has looked at yet follows its spec, where nothing means Machine API. Unset: a move without an origin.
func Authoritative(s Shape) API {
	switch {
	case s.Current != Unset:
		return Source(s)
	case s.Requested == ClusterAPI:
		return ClusterAPI
	}
	return MachineAPI
}
