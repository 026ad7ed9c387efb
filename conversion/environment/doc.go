// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment reads what a conversion needs of the cluster: the Infrastructure named cluster, and the platform's infrastructure cluster. Admission,
// the reconcilers and the plugin all use this package, so that their conversions cannot differ.
//
// The input is a function that gets objects. The output is a conversion.Env, or what is missing and what it is needed for.
//
// Non-goals:
//   - the account of the cloud, and the flags of Cluster API's manager: reading those needs a client (package facts)
//   - deciding what follows from what is missing
package environment
