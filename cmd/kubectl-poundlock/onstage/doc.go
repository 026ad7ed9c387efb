// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package onstage has no code but tests: they drive the real plugin, through kubectl and in a pseudo-terminal, on a cluster with a
// fleet, as a person would. The transcript of docs/plugin.md is one of them; go test ./cmd/kubectl-poundlock/onstage -update writes it
// anew.
package onstage
