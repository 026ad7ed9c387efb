// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout carries out what a ControlPlaneMachineSet says (control-plane-machine-set-controller › Implementation Details): it
// adopts the control plane's Machines, changes in place what can be, makes and deletes one Machine at a time, and tells in conditions, in
// the ClusterOperator control-plane-machine-set, in events and in metrics what it does and what it waits for.
//
// What is to be done is a plan's (policies/controlplane), the one that admission tells of before and the plugin shows. A pass looks at a
// cache. Only if that calls for a Machine to be made or deleted is everything read again from the API server, and decided again.
//
// It knows which objects a plan is made of, and how a step is written. It refuses to know why a step is taken, and etcd: a Machine that
// etcd needs is held by its hooks.
package rollout
