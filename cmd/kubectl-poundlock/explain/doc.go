// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain is the command that explains a rule, a reason, a signal or a field.
//
// In goes a word. Out come the topics that it may mean.
//
// Non-goals:
//   - the explanations: see topics
package explain
