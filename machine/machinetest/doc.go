// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinetest is what a provider's actuator is tried with: the suite that holds it to the contract (Conform), and a cloud
// that is not there, with an actuator for AWS over it, so that everything above an actuator can be tried without an account.
//
// The cloud has instances with a life, and whatever makes a real one hard: it is slow, has a limit, tells late of what it did, refuses, loses
// answers and hangs, each on demand. Its ledger says which API called for which Machine. A Witness looks, at each call, at who is in
// charge; Audit lists each second instance of a Machine and each call by the side that was not. In one process it is a Cloud; over
// loopback a Handler serves it to a Client; both are a Panel, and both give each API its own view of it.
//
// It knows what a provider can do to its callers, and what an actuator owes to its own. It refuses to know how a Machine is
// reconciled, and that anybody moves authority.
//
//	instance:  pending ──▶ running ──▶ shutting-down ──▶ terminated
//	                          │  ▲          ▲
//	                          ▼  │          │   (stopped and started by hand alone)
//	                        stopped ────────┘
package machinetest
