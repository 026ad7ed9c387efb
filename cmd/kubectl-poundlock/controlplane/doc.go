// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane says of a ControlPlaneMachineSet what it would do and where it stands, in values that a program reads and a person is shown. What
// it says of a plan it has from policies/controlplane, as the operator and the webhook have; a plan to its end is that plan again and again, with what it
// does done.
//
// It is pure: sets, files and what was read of a cluster come in as values. It refuses to know how a cluster is read, and what a set is to do.
package controlplane
