// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machinetest provides tests for a provider's actuator. Conform is the suite that tests it against the contract.
// A simulated cloud, with an actuator for AWS over it, lets everything above an actuator run without an account.
//
// The cloud's instances have a life cycle. On demand, the cloud does whatever makes a real cloud hard: it is slow, has a quota, reports late what it did,
// refuses, loses answers and hangs. Its ledger records which API called for which Machine.
//
// A Witness checks at each call which API is authoritative. Audit lists each second instance of a Machine, and each call by an API that was not authoritative.
// In one process, the cloud is a Cloud. Over loopback, a Handler serves it to a Client. A Cloud and a Client are both a Panel, and both give each API its own
// view of the cloud.
//
//	instance:  pending ──▶ running ──▶ shutting-down ──▶ terminated
//	                          │  ▲          ▲
//	                          ▼  │          │   (stopped and started only by hand)
//	                        stopped ────────┘
//
// Non-goals:
//   - how a Machine is reconciled: see machine/controller
//   - that authority moves: see reconcilers/handoff
package machinetest
