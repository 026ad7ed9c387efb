// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli has what all commands of the plugin share: their inputs, and how they end.
//
// In go the connection's flags, streams, environment and clock. Out come a client, a confirmation, output in the
// requested format, and errors whose type is the exit code.
//
// Non-goals:
//   - which objects a command is about: see targets
//   - the layout of text: see printers
package cli
