// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package surroundings marks the objects that mirrors depend on (DESIGN §3.3 › Deletion of the surroundings). They are
// both namespaces of a pair, the CRDs of the mirrored kinds, the Cluster and its infrastructure cluster. By that mark,
// the rule authority/surroundings refuses their deletion.
//
// In go the mirrored Machine API objects of all pairs, from the cache. Out come the annotations, whose value counts
// those objects. It reads every object from the API server before it patches it, with its resourceVersion. It sets the
// marks when the first object is mirrored, and removes them when none is. It corrects their numbers once a minute. A pass
// over right marks writes nothing.
//
// Non-goals:
//   - what a deletion may do: see policies/authority
//   - watching namespaces and CRDs: it restores a missing mark within a minute
package surroundings
