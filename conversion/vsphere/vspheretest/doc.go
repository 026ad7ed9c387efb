// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vspheretest provides tests with values for vSphere: valid values of a providerSpec and a VSphereMachine, and
// the kit of a cluster there. It also reduces a value that has two forms to one of them.
//
// Non-goals:
//   - how a value converts: that is under test
package vspheretest
