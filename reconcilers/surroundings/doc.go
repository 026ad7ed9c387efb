// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package surroundings marks the objects on which mirrors depend (DESIGN §3.3 › Deletion of the surroundings). These
// are both namespaces of a pair, the CRDs of the mirrored kinds, the Cluster and its infrastructure cluster. Because of
// the mark, the rule authority/surroundings refuses the deletion of these objects.
//
// The input is the mirrored Machine API objects of all pairs, from the cache. The output is the annotations, whose
// value is the number of these objects. The controller reads every object from the API server before it patches it with
// the object's resourceVersion. It sets the marks when the first object is mirrored, and removes them when no object is
// mirrored any more. It corrects their numbers once a minute. A pass over correct marks writes nothing.
//
// Non-goals:
//   - what a deletion may do: see policies/authority
//   - watching namespaces and CRDs: it restores a missing mark within a minute
package surroundings
