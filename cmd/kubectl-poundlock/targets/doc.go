// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package targets finds out which objects a command is about, and reads them.
//
// In go arguments, flags, and files of names or of objects. Out come kinds and names, a query, and the objects of a
// cluster or of files. targets.go is pure.
//
// Non-goals:
//   - how objects are put together: see inventory
package targets
