// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generator makes an Inactive ControlPlaneMachineSet from the Machines of a control plane, such that the set's plan has
// nothing to do. It also decides how a generated set follows its Machines, and keeps what a person has edited.
//
// The rules of package admission judge a generated set before it is written, as they judge a person's set.
//
// Non-goals:
//   - activating a set: a person does that
package generator
