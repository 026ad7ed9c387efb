// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command run is what `make run` starts: an embedded control plane with Poundlock, a simulated cloud and a small fleet
// on it. It prints the commands that are worth typing. It stays up until Ctrl-C (or SIGTERM). It restarts Poundlock when
// that ends by itself, as a Deployment would. It leaves no process, and no file outside its folder.
//
// Non-goals:
//   - what is started, and how: see test/testcluster
package main
