// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout is the operator of a ControlPlaneMachineSet (control-plane-machine-set-controller › Implementation
// Details). It adopts the control plane's Machines, and changes in place what it can. It creates and deletes one
// Machine at a time.
//
// It reports what it does and what it waits for: in conditions, in the ClusterOperator control-plane-machine-set, in
// events and in metrics.
//
// A pass gathers the objects of a plan, asks policies/controlplane for the plan, and writes one step. Admission warns
// with the same plan, and the plugin shows it. A pass reads from a cache. Before it creates or deletes a Machine, it
// reads everything again from the API server, and decides again.
//
// Non-goals:
//   - why a step is taken: see policies/controlplane
//   - etcd: hooks delay the deletion of a Machine while etcd needs the Machine
package rollout
