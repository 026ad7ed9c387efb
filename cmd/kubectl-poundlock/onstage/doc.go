// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package onstage tests the real plugin on a cluster with a fleet, as a person would use it. The tests call it through
// kubectl and in a pseudo-terminal. The package has no other code.
//
// The transcript of docs/plugin.md is one of the tests. `go test ./cmd/kubectl-poundlock/onstage -update` writes it
// anew.
package onstage
