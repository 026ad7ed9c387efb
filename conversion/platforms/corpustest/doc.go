// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpustest reads the corpus in conversion/platforms/testdata/corpus: objects of the Machine API as installations have them. Each platform has a
// folder with the cluster (cluster.yaml), manifests, and variants of the manifests (variants.yaml) that move or are refused.
//
// The input is a folder. The output is objects, each with the cluster that it is in. Only tests import this package.
//
// Non-goals:
//   - whether an object converts, and to what: see the tests of conversion/platforms and test/schemas
package corpustest
