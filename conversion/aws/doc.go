// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aws converts between a Machine API providerSpec for AWS and Cluster API's AWSMachineSpec. Fields has one row
// per field, and docs/fields/aws.md is generated from it.
//
// Non-goals:
//   - the core Machine (see conversion/core), except for the few values that one API has in the core Machine and the
//     other in the providerSpec
//   - asking AWS: no filter is resolved into an ID, and no ARN into a name
package aws
