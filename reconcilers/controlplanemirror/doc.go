// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplanemirror moves authority over a ControlPlaneMachineSet, and keeps Cluster API's side of it equal
// (converting › ControlPlaneMachineSet Synchronisation). That side is an infrastructure machine template, which is
// converted from the set's template, and the failure domains in the infrastructure cluster.
//
// A ControlPlaneMachineSet has no twin, and one operator acts for both APIs. So a move has no pause to wait for. The
// set's conditions Synchronized and AuthoritySettled report the move, with every field that prevents it.
//
//	"" ── adopt ──► MachineAPI ◄── switch ── Migrating ── switch ──► ClusterAPI
//	                    └───── acknowledge ──►   ▲  ◄── acknowledge ─────┘
//
// handover.Next decides the next step (policies/controlplane/handover). Package controlplanetemplate converts the
// template.
//
// Non-goals:
//   - the Machines of a set: the operator creates them, and waits while Migrating is stored
package controlplanemirror
