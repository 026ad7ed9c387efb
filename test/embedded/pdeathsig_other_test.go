// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package embedded_test

const pdeathsig = false
