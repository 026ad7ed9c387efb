// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation simulates the controllers between the two APIs and a simulated cloud: the Machine API's controllers with an actuator for that cloud,
// Cluster API's infrastructure controller, the kubelets of the instances, and the operator of etcd. With them the tests and `make run` show that two
// controllers never act on one machine. They show it on a real API server, and without an account anywhere.
//
// Each part runs under the identity that it has in a cluster. A row in providers.go describes a platform's provider of Cluster API, as far as Poundlock can see
// it: how the provider pauses, which finalizer it adds and when, and what it writes. A kubelet does as much as a drain and a health check need. The operator of
// etcd keeps the list of voters, and holds Machines for them.
//
// cmd/simulation runs each side, and the cloud, as a process of its own. So a test can stop and kill each of them.
//
// Non-goals:
//   - the cloud itself: see machine/machinetest
//   - Cluster API's core, which calls no cloud: the real one runs (test/capimanager)
//   - Poundlock: it reads the APIs and nothing of this project's own
package simulation
