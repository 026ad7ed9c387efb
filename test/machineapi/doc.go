// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machineapi pins the machine-api-operator. It has no code. test/build builds the operator's controllers of
// MachineSets and MachineHealthChecks. test/testcluster runs them (Options.RealMachineAPI). The operator is licensed under the
// Apache License 2.0.
//
// It is a Go module of its own, because these controllers use older Kubernetes libraries than the product.
package machineapi
