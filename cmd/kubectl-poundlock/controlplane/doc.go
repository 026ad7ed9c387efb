// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane reports what a ControlPlaneMachineSet would do, and what it is doing now.
//
// In go sets, files and what was read of a cluster, as values. Out come values that a program reads and a person is
// shown. The plan is that of policies/controlplane, which the operator and the webhook use too. A plan to its end
// applies each step and plans again.
//
// It is pure.
//
// Non-goals:
//   - reading a cluster: see commands and inventory
//   - deciding what a set does: see policies/controlplane
package controlplane
