// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handover decides the next step of a move of authority over a ControlPlaneMachineSet. The set's Machines do not move
// with the set, so there is neither a pause nor a finalizer to wait for. A move to Cluster API waits only until Cluster API's
// objects for the set exist.
package handover
