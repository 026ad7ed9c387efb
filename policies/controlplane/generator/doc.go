// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generator makes a ControlPlaneMachineSet from the Machines of a control plane, Inactive, such that its plan has
// nothing to do; and decides how a generated set that nobody has edited follows its Machines.
//
// What it makes is judged by the rules of package admission before it is written, as a person's set is.
//
// Non-goals:
//   - activating a set: a person does
package generator
