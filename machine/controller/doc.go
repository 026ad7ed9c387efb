// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller has the Machine API's own controllers: of Machine, MachineSet and MachineHealthCheck, for any
// provider that has an Actuator (source/machine-controller.md). A provider's program calls Add with its actuator.
// Poundlock's own program does not run these controllers.
//
// Each controller reads its object, asks the gate (policies/authority) whether the Machine API is authoritative, and
// only then works. One pass of one controller does everything that one Machine needs, drain and Node linking included.
// Passes for one Machine follow each other. So when a pass reports Paused, nothing of that Machine is in flight.
//
// The Machine controller's pass is a list of named steps (machines.go). There is one list for a Machine that is wanted,
// and one for a Machine that is being deleted. A step returns what happened. conclude turns that into conditions, phase,
// events, and the time of the next pass.
//
// Non-goals:
//   - instances: see machine.Actuator
//   - which Machine is surplus: see machine/scaling
//   - which Machine is unhealthy: see machine/health
//   - which API is authoritative: see policies/authority
package controller
