// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos tests that a person's actions end well while something breaks. It has no code but tests. The stories run on the stage of `make run`, with a
// real control plane, Poundlock's own binary, Cluster API's real core manager and the simulated cloud. Each story runs again and again:
//
//   - crash_test.go kills the manager right before and right after each of its writes.
//   - faults_test.go injects faults into the API server, and into the requests and answers between it and the manager.
//   - webhooks_test.go cuts the API server off from the webhooks.
//   - leaders_test.go runs two managers, and kills one, or resumes it after its lease expired.
//
// A story must end as it does without the fault: both sides have the same objects, with the same finalizers, owners, pauses and conditions. The cloud's ledger
// is clean, and nothing is left once everything is deleted.
//
// `make test` only compiles these tests. With -complete (`make proof WHAT=chaos`) they play all stories. With -part
// (`make proof WHAT=chaos ARGS=-part`) they play a part in some minutes, and log the seed. Set POUNDLOCK_KEEP to keep
// the folder with all logs.
package chaos
