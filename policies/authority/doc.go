// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority decides which API owns an object that exists in both the Machine API and Cluster API. It has the
// kinds (Kinds), every admission rule about authority (Rules), and the state machine that moves it (Next).
//
// Read takes an object and returns its authority. A rule takes a change and returns a verdict. Next takes the state of a
// pair and returns one step.
//
// This is the authority over one pair of objects, in status.authoritativeAPI of the Machine API object:
//
//	         adopt                      request                  switch
//	''  ─────────────▶ MachineAPI ─────────────▶ Migrating ─────────────▶ ClusterAPI
//	 └───────────────▶ ClusterAPI ─────────────▶     │     ─────────────▶ MachineAPI
//	                                                 └─ abort: back to where it came from
//
// Non-goals:
//   - reading and storing objects: see webhooks and reconcilers/handoff
//   - converting objects: see conversion
//   - the platform of a machine: see conversion/platforms
package authority
