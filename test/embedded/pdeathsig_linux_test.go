// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded_test

const pdeathsig = true
