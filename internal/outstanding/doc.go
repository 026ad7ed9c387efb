// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outstanding shows in a metric, object by object, which conditions are False: for what, and since when. It knows no condition by name, and refuses to
// know what makes one False.
package outstanding
