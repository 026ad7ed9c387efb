// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package surroundings marks what mirrors live in: both namespaces of a pair, the CRDs of the mirrored kinds, the Cluster and its infrastructure cluster (DESIGN §3.3 › Deletion of
// the surroundings). By that mark, the rule authority/surroundings refuses their deletion.
//
// In go the mirrored Machine API objects of all pairs, from the cache; out come the annotations, whose value counts those objects. Every object is read
// from the API server before it is patched, with its resourceVersion. A mark goes once nothing is mirrored. A pass over right marks writes nothing.
//
// Non-goals:
//   - to decide what a deletion may do (policies/authority),
//   - to watch namespaces and CRDs: a mark that is missing is put back within a minute.
package surroundings
