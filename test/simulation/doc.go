// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation is what stands between the APIs and a cloud that is not there: the Machine API's controllers
// with an actuator for it, Cluster API's infrastructure controller, the kubelets of the instances, and the operator of etcd. With them the tests and `make run` show,
// on a real API server and without an account anywhere, that two controllers never act on one machine. The cloud itself is
// machine/machinetest's; Cluster API's core, which calls no cloud, is the real one (test/coremanager).
//
// It knows under which identity each of them runs in a cluster, what each platform's provider of Cluster API does that Poundlock can see (how it
// pauses, which finalizer it adds and when, what it writes: a row in providers.go), of a kubelet as much as a drain and a health check ask for, and of etcd who votes and which Machines its operator holds for that. It refuses to know
// Poundlock: it reads what the APIs say and nothing of this project's own.
//
// cmd/simulation runs each side, and the cloud, as a process of its own, so that they can be stopped and killed one by one.
package simulation
