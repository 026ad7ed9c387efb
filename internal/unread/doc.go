// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unread lists the members of a providerSpec that the Machine API's controllers do not read. The conversion leaves these members out. A
// ControlPlaneMachineSet replaces no Machine because of them.
//
// Members takes the name of a platform and returns the paths of the members.
//
// Non-goals:
//   - what the other members mean: see the platforms of package conversion
package unread
