// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command run is what `make run` starts: an embedded control plane with Poundlock, a simulated cloud and a small fleet on it, and the
// commands that are worth typing. It stays up until Ctrl-C (or SIGTERM), which leaves no process, and no file outside its folder.
//
// It knows how to tell a person what happens. What is started, and how, is package scene's.
package main
