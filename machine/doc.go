// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine defines the contract of a provider of the Machine API (Actuator, with its typed errors). It also makes
// the decisions of a Machine's controllers, as pure functions.
//
// The functions take a Machine, and what an actuator returned for it. They return the Machine's phase, whether the Machine may be deleted, and what its Node
// gets from it.
//
//	      intent stored      Exists: true      provider ID      Node
//	""  ──────────────▶ Provisioning ──────────────▶ Provisioned ─────▶ Running
//	                         │                           │                │
//	                         │  terminal error           │ instance gone  │
//	                         └─────────────▶ Failed ◀────┴────────────────┘
//
//	any of them, once it is being deleted ──▶ Deleting
//
// Non-goals:
//   - which API is authoritative: see policies/authority
//   - reading, writing, draining and retrying: see machine/controller
package machine
