// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane decides what a ControlPlaneMachineSet does to a control plane.
//
// The center of the package is one pure function, Make. It takes a set, the set's Machines, the control plane's Nodes and
// the Infrastructure, and returns a Plan. A Plan has the failure domain of each index, and each field in which a Machine
// differs from the template. A Plan also has what keeps the set from acting, and the steps to take now and later, in order.
//
// Four callers use the Plan, so their answers cannot differ. The admission rules warn with it, the operator acts by it, the
// generator makes sets whose Plan has nothing to do, and the plugin prints the Plan.
//
// The packages below this directory import each other in one direction. Package values is at the bottom, platform imports
// values, and this package imports both. Package admission has the rules and imports this package, and generator imports
// admission. Package handover imports none but this one.
//
// Non-goals:
//   - etcd: its operator holds Machines by their hooks
//   - clouds: a failure domain is the fields that it sets in a providerSpec
package controlplane
