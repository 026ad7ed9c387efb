// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpustest reads the corpus: objects of the Machine API as installations have them, a folder a platform, in
// conversion/platforms/testdata/corpus. A folder has the cluster (cluster.yaml), manifests, and variants of these
// (variants.yaml) that move or are refused.
//
// In goes a folder, out come objects with the cluster that they are in. Only tests import it.
//
// Non-goals:
//   - whether an object converts, and to what: see the tests of conversion/platforms and test/schemas
package corpustest
