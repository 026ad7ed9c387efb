// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command poundlock is the product's one binary: `poundlock manager` serves the admission webhooks and runs the
// reconcilers, both or either.
//
// It knows flags and what is wired to what. It refuses to know a rule, a step or a field: those are the nouns'.
// A setting is a flag, or POUNDLOCK_<FLAG> in the environment, or a line of the --config file, in that order.
package main
