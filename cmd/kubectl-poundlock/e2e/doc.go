// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the real plugin on a cluster with a fleet, as a person would use it. The tests call it through
// kubectl and in a pseudo-terminal. The package has no other code.
//
// The transcript of docs/plugin.md is one of the tests. `go test ./cmd/kubectl-poundlock/e2e -update` writes it
// anew.
package e2e
