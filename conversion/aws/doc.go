// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aws knows how a Machine API providerSpec for AWS and Cluster API's AWSMachineSpec say the same: one row per
// field, in Fields. docs/fields/aws.md is generated from it.
//
// It refuses to know the core Machine, but for the few values that one API keeps there and the other in the
// providerSpec, and never asks AWS: a filter is not resolved into an id, an ARN not into a name.
package aws
