// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment reads what a conversion needs of the cluster, in one way for admission, reconcilers and plugin: the Infrastructure named
// cluster, and the platform's infrastructure cluster.
//
// In goes a way to get objects. Out comes a conversion.Env, or what is missing and for what.
//
// Non-goals:
//   - the account of the cloud and what Cluster API's manager is started with: those need a client (facts)
//   - deciding what follows from what is missing
package environment
