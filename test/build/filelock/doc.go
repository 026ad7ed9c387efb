// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package filelock lets one process at a time hold a folder or a file, for as long as it lives.
//
// It uses advisory locks of the operating system, which vanish with the process that held them, however that process
// ended.
//
// Non-goals:
//   - what the lock protects
package filelock
