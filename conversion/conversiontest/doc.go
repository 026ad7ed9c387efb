// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversiontest tests a conversion with random values. Each field that the table calls convertible must round-trip unchanged. Each field that the
// table calls unconvertible must cause an error that names the field's path. There is no third outcome.
//
// In go a table, its types, and generators of valid values. Out come failures of the test. Only tests import it.
//
// Non-goals:
//   - what a valid value of a field is: see the platforms' kits, such as conversion/aws/awstest
package conversiontest
