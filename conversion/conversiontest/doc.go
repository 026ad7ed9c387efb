// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversiontest holds a conversion to its promise, with values made up at random: what the table calls
// convertible comes back as it went, what it calls unconvertible is an error that names its path, and there is no third.
//
// It knows tables and types; what a valid value of a field looks like it is told. Only tests import it.
package conversiontest
