// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reading reads, through whatever reader it is given, what a policy judges by and what more than one part of Poundlock has to read alike.
//
// It decides nothing and writes nothing. Whether a cache may answer, how long that may take and what is counted is its callers' business.
package reading
