// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package awstest provides tests with values for AWS: valid values of a providerSpec and an AWSMachine, and the kit of a
// cluster there. If a value has two forms with the same meaning, the package also changes one form into the other.
//
// Non-goals:
//   - how a value converts: that is under test
package awstest
