// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli is what every command of the plugin is given, and how it ends.
//
// In go the connection's flags, streams, environment and clock. Out come a client, a confirmation, output in the format
// that was asked for, and errors whose type is the exit code.
//
// Non-goals:
//   - which objects a command is about: see targets
//   - the layout of text: see printers
package cli
