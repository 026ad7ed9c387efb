// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reconcilers adds everything to a manager that runs behind leader election (All).
//
// Each reconciler is a package in a folder of this one. It gathers objects, decides and applies. The decisions are made
// by the packages in policies and conversion.
//
// Non-goals:
//   - what a reconciler does: see its package
//   - calls between reconcilers: they communicate through the objects in the API server. The only exception is compared
//     (all.go), through which the handoff reads which pairs the mirror has made equal.
package reconcilers
