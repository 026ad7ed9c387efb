// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos tests that a person's actions end well while something breaks. It has no code but tests. The stories run
// on the stage of `make run`. It has a real control plane, Poundlock's own binary, Cluster API's real core manager and
// the simulated cloud. Each story runs again and again:
//
//   - crash_test.go kills the manager right before and right after each of its writes.
//   - faults_test.go spoils what passes between the manager and the API server, and the API server itself.
//   - webhooks_test.go cuts the API server off from the webhooks.
//   - leaders_test.go runs two managers, and kills one, or resumes it after its lease expired.
//
// Whatever happens, a story must end as it does when nothing happens. Both sides have the same objects, finalizers,
// owners, pauses and conditions included. The cloud's ledger is clean, and nothing is left when all of it is deleted.
//
// `make test` only compiles it, as yet. With -complete (`make proof WHAT=chaos`) it plays all stories. With -part (`make
// proof WHAT=chaos ARGS=-part`) it plays a part in some minutes, and logs the seed. Set POUNDLOCK_KEEP to keep the
// folder with all logs.
package chaos
