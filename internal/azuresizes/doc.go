// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package azuresizes spells the sizes of Azure's virtual machines. Azure takes them in any case, Cluster API's provider only as Azure lists them, and a
// ControlPlaneMachineSet replaces no Machine for a spelling.
//
// A name goes in; a name comes out.
//
// Non-goals:
//   - whether a size exists: Azure says that
package azuresizes
