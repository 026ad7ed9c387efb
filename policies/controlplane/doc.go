// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane decides what a ControlPlaneMachineSet does to a control plane.
//
// Its heart is one pure function, Make. In go a set, its Machines, the control plane's Nodes and the Infrastructure. Out
// comes a Plan. It has the failure domain of each index, and each field in which a Machine differs from the template. It
// also has what keeps the set from acting, and the steps to take now and later, in order.
//
// Four callers use the Plan, so their answers cannot differ. The admission rules warn with it, and the operator acts by
// it. The generator makes sets whose Plan has nothing to do, and the plugin prints it.
//
// Its rooms use each other in one direction. Package values is at the bottom, platform above it, and then this one. The
// rules (admission) are above the Plan, and the generator above the rules. Handover stands beside them.
//
// Non-goals:
//   - etcd: its operator holds Machines by their hooks
//   - clouds: a failure domain is the fields that it sets in a providerSpec
package controlplane
