// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testcluster starts the stage of `make run` and of the journeys: an embedded control plane with the objects of a cluster on one of the platforms.
// Cluster API's real core manager and Poundlock's own binary run as child processes under their own identities. A simulated cloud, the controllers that call
// it, and a small fleet complete the stage.
//
// In go Options. Out comes a stage, once each part is ready. The package decides in which order the parts start, and how
// each shows that it is ready.
//
// Non-goals:
//   - the tests that run on the stage: see test/journeys and test/platforms
//   - the rules: see policies
package testcluster
