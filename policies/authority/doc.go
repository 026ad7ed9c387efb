// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority knows who owns an object that exists in both the Machine API and Cluster API: the kinds (Kinds),
// how an object says which API is authoritative (Read), every admission rule about it (Rules), and the state machine that moves
// authority from one API to the other (Next).
//
// It refuses to know how anything is fetched, stored or converted, and which platform a machine runs on.
//
// Authority over one pair of objects, as status.authoritativeAPI of the Machine API object tells it:
//
//	         adopt                      request                  switch
//	''  ─────────────▶ MachineAPI ─────────────▶ Migrating ─────────────▶ ClusterAPI
//	 └───────────────▶ ClusterAPI ─────────────▶     │     ─────────────▶ MachineAPI
//	                                                 └─ abort: back to where it came from
package authority
