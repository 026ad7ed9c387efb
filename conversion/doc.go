// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion knows how one value is said in two APIs: a Table has one Row per field, and a Row holds both
// directions, so that they cannot drift apart. A field that the other API has no place for is a Row too, with the
// reason that a person reads. Nothing is dropped silently: what cannot go is an error that names its path.
//
// It refuses to know any kind (see conversion/core), any platform (see conversion/aws and its neighbours), and the
// cluster: whatever a conversion needs of the cluster comes in as values, in an Env.
package conversion
