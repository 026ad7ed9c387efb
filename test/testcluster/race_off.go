// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package testcluster

// raceDetector: what is built here is built as the test that builds it.
const raceDetector = false
