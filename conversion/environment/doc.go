// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment reads what a conversion needs of the cluster: the Infrastructure named cluster, and the platform's infrastructure cluster. Admission,
// reconcilers and plugin all use it, so that they cannot differ.
//
// In goes a way to get objects. Out comes a conversion.Env, or what is missing and for what.
//
// Non-goals:
//   - the account of the cloud, and the flags of Cluster API's manager: reading those needs a client (package facts)
//   - deciding what follows from what is missing
package environment
