// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane is the command that reports what a ControlPlaneMachineSet would do, and what it is doing now, and
// that activates it.
//
// In go sets, files and what is read of a cluster. Out come values that a program reads and a person is shown. The plan is
// that of policies/controlplane, which the operator and the webhook use too. A plan to its end applies each step and
// plans again. admission.go, ahead.go, report.go, set.go, standing.go and waiting.go are pure.
//
// Non-goals:
//   - deciding what a set does: see policies/controlplane
package controlplane
