// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-poundlock is the kubectl plugin: `kubectl poundlock`. Called as kubectl_complete-poundlock (a link to it), it
// completes words for kubectl's shell completion.
//
// What it says about a rule, a field or a move it has from policies and conversion, as the webhook has; docs/plugin.md tells how it is used.
package main
