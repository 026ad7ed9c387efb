// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package overview reads from a pair's objects what a person wants to see of a fleet at a glance: who is asked for, which API is authoritative,
// whether the mirror is in step, who is paused, and what is waited for since when.
//
// It is pure. It repeats what the objects' own conditions say, and refuses to know what ought to happen next.
package overview
