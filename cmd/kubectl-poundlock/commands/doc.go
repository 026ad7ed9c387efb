// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commands is the plugin's command line: the root, and each command below it.
//
// In go arguments, streams and the environment. Out comes an error whose type is the exit code.
//
// Non-goals:
//   - the commands: each is a package beside this one, which holds its flags, its thinking and its output
//   - what commands share: see cli, targets and presence
package commands
