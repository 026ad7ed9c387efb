// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reconcilers lists what runs behind leader election: All.
//
// Each reconciler is a package beneath it. It gathers, decides and applies. The nouns under policies and conversion
// decide.
//
// Non-goals:
//   - what a reconciler does: see its package
//   - calls between reconcilers: they meet in the objects
package reconcilers
