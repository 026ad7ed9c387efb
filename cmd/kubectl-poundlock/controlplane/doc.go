// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane is the command `kubectl poundlock controlplane`. It reports what a ControlPlaneMachineSet is
// doing and what it would do next, and it activates the set.
//
// In go sets, files and the objects read from a cluster. Out come values for programs, and text for people. The plan is
// that of policies/controlplane, which the operator and the webhook use too. To forecast all steps, the command applies
// each step to its copy of the objects and plans again. admission.go, ahead.go, report.go, set.go, standing.go and
// waiting.go are pure.
//
// Non-goals:
//   - deciding what a set does: see policies/controlplane
package controlplane
