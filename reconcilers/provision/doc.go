// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provision is the Machine API's own side: the controllers of Machine, MachineSet and MachineHealthCheck, for any provider that
// has an Actuator (source/machine-controller.md). A provider's program calls Add with its actuator; Poundlock's own does not run it.
//
// Each controller does the same three things: it reads its object, asks the gate (policies/authority) whether the Machine API is authoritative, and only
// then works. All that is done because of one Machine is done in one pass of one controller, drain and Node linking included, and passes for one
// Machine follow each other: so when a pass says Paused, nothing of that Machine is in flight.
//
// The Machine controller's pass is a list of named steps (machines.go): one for a Machine that is to be, one for a Machine that is being deleted.
// Steps say what happened; conclude turns that into conditions, phase, events, and when to look again.
//
// It knows how to read, patch, drain, wait and report. It refuses to know what an instance is (machine.Actuator), which Machine is surplus
// (machine/scaling), which is unhealthy (machine/health), and which API is authoritative (policies/authority).
package provision
