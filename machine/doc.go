// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine is what a provider of the Machine API has to keep, and what follows from what it found: the Actuator
// contract with its typed errors, and the decisions of a Machine's controllers as pure functions.
//
// It knows what an actuator may be asked and what it may answer, which phase a Machine is in, whether it may be deleted, and what of it
// belongs on its Node. It refuses to know which API is authoritative (policies/authority), and how anything is read, written, drained or repeated
// (reconcilers/provision).
//
//	      intent stored      Exists: true      provider ID      Node
//	""  ──────────────▶ Provisioning ──────────────▶ Provisioned ─────▶ Running
//	                         │                           │                │
//	                         │  terminal error           │ instance gone  │
//	                         └─────────────▶ Failed ◀────┴────────────────┘
//
//	any of them, once it is being deleted ──▶ Deleting
package machine
