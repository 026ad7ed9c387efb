// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machineapi has no code: its module pins the machine-api-operator, of which test/build builds the controllers of MachineSets and MachineHealthChecks, and
// test/scene runs them (Options.RealMachineAPI). It is licensed under the Apache License 2.0.
//
// It is a Go module of its own, because they are built with older Kubernetes libraries than the product is.
package machineapi
