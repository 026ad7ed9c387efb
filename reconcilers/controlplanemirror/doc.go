// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplanemirror moves authority over a ControlPlaneMachineSet, and keeps Cluster API's side of it (converting ›
// ControlPlaneMachineSet Synchronisation). That side is an infrastructure machine template, converted from the set's
// template, and the failure domains in the infrastructure cluster.
//
// A set has no twin, and one operator acts for both sides. So a move has no pause to wait for. The set's conditions
// Synchronized and AuthoritySettled report it, with every field that is in the way.
//
//	"" ── adopt ──► MachineAPI ◄── switch ── Migrating ── switch ──► ClusterAPI
//	                    └───── acknowledge ──►   ▲  ◄── acknowledge ─────┘
//
// controlplane.NextAuthority decides the next step. Package controlplanetemplate converts the template.
//
// Non-goals:
//   - the Machines of a set: the operator creates them, and waits while Migrating is stored
package controlplanemirror
