// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command poundlock is the product's one binary. `poundlock manager` serves the admission webhooks, runs the
// reconcilers, or both.
//
// In go flags, POUNDLOCK_<FLAG> in the environment, and the lines of the --config file, in that order of precedence. The
// command builds each part and wires it to the others.
//
// Non-goals:
//   - rules, steps and fields: see policies, reconcilers and conversion
package main
