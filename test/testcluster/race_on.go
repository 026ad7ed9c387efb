// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package testcluster

// RaceDetector reports that the race detector runs: what is built here is built as the test that builds it.
const RaceDetector = true
