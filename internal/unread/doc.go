// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unread knows which members of a providerSpec Machine API's controllers do not read, whatever they say. The conversion leaves them out, and a
// ControlPlaneMachineSet replaces no Machine for them. It refuses to know what the others mean.
package unread
