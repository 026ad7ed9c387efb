// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commands is the plugin's command line: what may be typed, what is gathered for it, and how the answer is shown. Each
// file is one command.
//
// What may move, and why not, it refuses to know: it asks preflight, which asks policies and conversion, as the webhook does.
package commands
