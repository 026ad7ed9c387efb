// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command simulation runs what surrounds Poundlock in a cluster. Each part is a process of its own, so that it can be stopped or killed separately:
//
//	simulation cloud           the instances and their ledger, over HTTP on loopback
//	simulation machine-api     the Machine API's controllers, with an actuator for that cloud
//	simulation infrastructure  Cluster API's infrastructure controller for that cloud, and the kubelets of its instances
//	simulation etcd-operator   the operator of etcd, which holds the control plane's Machines while their Nodes vote
//
// In go flags. Each process ends on SIGTERM, and when its parent does if --parent names that.
//
// Non-goals:
//   - what a part does: see test/simulation and machine/machinetest
package main
