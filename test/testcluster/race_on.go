// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package testcluster

// RaceDetector reports whether the race detector runs. The programs that a test builds are built in the same way as the test.
const RaceDetector = true
