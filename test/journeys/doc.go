// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journeys has no code but tests: what a person does at kubectl, from the first command to the last machine, on an embedded
// control plane with Poundlock's own binary and Cluster API's real core manager, a simulated cloud and the controllers that call it.
//
// Each story makes a MachineSet of its own, so that they do not disturb each other, and ends with the cloud's ledger: at most one
// instance for each Machine, ever, and no call by a side that was not in charge. The fleet of `make run` belongs to the README's transcript.
//
// Set POUNDLOCK_KEEP to keep the folder with all logs.
package journeys
