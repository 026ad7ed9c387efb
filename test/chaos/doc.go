// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos has no code but tests: stories of what a person does, each played again and again while something breaks, on the stage of `make run` with
// its real control plane, Poundlock's own binary, Cluster API's real core manager and the simulated cloud.
//
//   - crash_test.go kills the manager right before and right after each of its writes.
//   - faults_test.go spoils what passes between the manager and the API server, and the API server itself.
//   - webhooks_test.go cuts the API server off from the webhooks.
//   - leaders_test.go has two managers, of which one dies or comes back from the dead.
//
// Whatever happens, a story must end as it does when nothing happens: the same objects on both sides, finalizers, owners, pauses and conditions included,
// a clean ledger of the cloud, and nothing left when all of it is deleted.
//
// `make test` only compiles it, as yet. -complete (`make proof WHAT=chaos`) plays all, -part (`make proof WHAT=chaos ARGS=-part`) a part in some minutes, and logs the seed. Set
// POUNDLOCK_KEEP to keep the folder with all logs.
package chaos
