// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stories leaves long stories out of `make test`, so that it ends in ten minutes on two cores. `make proof WHAT=stories`, which .ci/run calls, plays
// every test that calls Long or that draws more often by Times, in part or as a whole.
//
// In: the flag -long. Out: a skipped test, whose subtest's name says what plays it, or a number.
//
// Non-goals:
//   - which cases of a table are drawn: each package with such a table has flags of its own
//   - -short, which leaves out whatever starts a control plane
package stories
