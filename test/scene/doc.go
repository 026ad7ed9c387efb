// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scene sets the stage on which `make run` and the journeys play: an embedded control plane with the objects
// of a cluster on one of the platforms, Cluster API's real core manager and Poundlock's own binary as child processes under their own identities, the simulated cloud with the
// controllers that call it, and a small fleet.
//
// It knows in which order these start, and what shows that each is ready. It refuses to know what is tried on
// the stage, and what a rule says.
package scene
