// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-poundlock is the kubectl plugin: `kubectl poundlock`. Called as kubectl_complete-poundlock (a link to
// it), it completes words for kubectl's shell completion.
//
// Its answers about rules, fields and migrations come from policies and conversion, as the webhook's do. See
// docs/plugin.md for its use.
package main
