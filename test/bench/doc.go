// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what admission costs a PATCH and the creation of a Machine, on a real API server, at growing fleets.
//
// It compares four ways: no webhook, a webhook that does nothing, Poundlock, and a CEL policy whose params are the twins. The last is the usual way to look up
// another object. Each way has a namespace of its own with a fleet of the same size. A round tries all of them in turn, in an order that changes, so other work
// of the machine disturbs all of them alike.
//
// It prints ratios of one run, and asserts nothing.
//
// With -mirror it measures how a fleet gets its mirrors: how many requests each Machine takes, by the API server's audit log; how long that takes, compared
// with the same requests sent without Poundlock; and the most memory that Poundlock has had.
package main
