// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet holds the objects that the plugin was shown, wherever they come from: a cluster (in pages), files, folders, a
// must-gather, standard input. It puts the objects of one pair together, and describes their cluster to a conversion.
//
// It knows which objects belong to a pair and where objects are found. It refuses to know what may be done with them: that is
// policies/authority's and conversion's to say.
package fleet
