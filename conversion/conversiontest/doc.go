// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversiontest tests a conversion with random values. Each field that the table calls convertible must round-trip unchanged. Each field that the
// table calls unconvertible must cause an error that names the field's path. There is no third outcome.
//
// The input is a table, its types, and generators of valid values. The output is failures of the test. Only tests import this package.
//
// Non-goals:
//   - what a valid value of a field is: see the platforms' kits, such as conversion/aws/awstest
package conversiontest
