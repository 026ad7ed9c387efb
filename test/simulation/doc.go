// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation is a cloud that is not there, and the controllers before it that call it, each under the identity that it has in a cluster: the
// Machine API's, and those of Cluster API's AWS provider. It lets the tests and `make run` show, on a real API server and without an account
// anywhere, that two controllers never act on one machine. Cluster API's core, which calls no cloud, is the real one: test/coremanager.
//
// It knows what the published controllers do that Poundlock can see: how they pause, which finalizers they add and
// when, what they write to spec and status, and in which order they delete. It refuses to know Poundlock: it reads what the APIs say and nothing of this project's own.
//
// The cloud keeps a ledger of every call and of who made it. A Witness looks, at each call, at who is in charge.
//
// It is no copy of the real controllers. It does not drain, adopt orphans, wait for minReadySeconds or roll
// anything out; and where the real ones wait for caches it reads from the server.
//
//	instance:  pending ──▶ running ──▶ shutting-down ──▶ terminated
package simulation
