// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unread lists the members of a providerSpec that Machine API's controllers do not read. The conversion leaves them out,
// and a ControlPlaneMachineSet replaces no Machine for them.
//
// A platform's name goes in; paths of members come out.
//
// Non-goals:
//   - what the other members mean: see the platforms of package conversion
package unread
