// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handover decides the next step of a move of authority over a ControlPlaneMachineSet. Its Machines do not move
// with it, so that there is neither a pause nor a finalizer to wait for: only the other side's objects have to exist.
package handover
