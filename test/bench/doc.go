// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what admission costs a PATCH of a Machine, on a real API server, at growing fleets: with no
// webhook, with one that does nothing, with Poundlock, and with a CEL policy whose params are the twins, which is how it is usually
// done. It prints ratios of one run, and asserts nothing.
//
// Each way has a namespace of its own with a fleet of the same size, and a round asks all of them in turn, in an order that
// changes: whatever else the machine does meanwhile, it does to all.
package main
