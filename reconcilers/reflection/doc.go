// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reflection carries out which API is authoritative for a ControlPlaneMachineSet, and keeps Cluster API's side of it (converting › ControlPlaneMachineSet
// Synchronisation): the infrastructure machine template that its template stands for, and its failure domains in the infrastructure cluster.
//
// A set has no twin, and one operator acts for both sides. So a move has no pause to wait for. It is told in the set's conditions Synchronized and
// AuthoritySettled, which name every field that is in the way.
//
//	"" ── adopt ──► MachineAPI ◄── switch ── Migrating ── switch ──► ClusterAPI
//	                    └───── acknowledge ──►   ▲  ◄── acknowledge ─────┘
//
// What is next is decided by controlplane.NextAuthority, how a template is said in Cluster API by package blueprint. It refuses to know what is made of a set: that is
// the operator's, and it waits while Migrating is stored.
package reflection
