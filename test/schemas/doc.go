// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schemas tests that a real API server accepts the output of the conversions. The API server has the CRDs that the providers publish, so their schemas,
// defaults and CEL rules apply. The package has no other code.
//
// In go random values from the platforms' kits, and what installations have (conversion/platforms/corpustest). The tests
// check what must hold on every platform.
//
// Non-goals:
//   - any field: see conversion
package schemas
