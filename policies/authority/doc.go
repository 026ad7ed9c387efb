// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority decides which API owns an object that exists in both the Machine API and Cluster API. The package has the kinds (Kinds), every admission
// rule about authority (Rules), and the state machine that moves authority from one API to the other (Next).
//
// Read takes a Machine API object and returns its authority. A rule takes a change and returns a verdict. Next takes the state of a pair and returns the next
// step.
//
// The authority over a pair of objects is stored in status.authoritativeAPI of the Machine API object. It changes as follows:
//
//	         adopt                      request                  switch
//	''  ─────────────▶ MachineAPI ─────────────▶ Migrating ─────────────▶ ClusterAPI
//	 └───────────────▶ ClusterAPI ─────────────▶     │     ─────────────▶ MachineAPI
//	                                                 └─ abort: back to the API that was authoritative before
//
// Non-goals:
//   - reading and storing objects: see webhooks and reconcilers/handoff
//   - converting objects: see conversion
//   - the platform of a machine: see conversion/platforms
package authority
