// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package commands is the plugin's command line. Each file is one command.
//
// In go arguments, flags and the objects of a cluster or of files. Out come text, tables, JSON or YAML, and an exit
// code.
//
// Non-goals:
//   - what may migrate, and why not: package check asks policies and conversion, as the webhook does
package commands
