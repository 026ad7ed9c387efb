// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package azuresizes writes the names of Azure's virtual machine sizes as Azure lists them. Azure accepts any case, and Cluster API's provider accepts only the
// listed spelling. A ControlPlaneMachineSet compares the listed spellings, so a difference only in case replaces no Machine.
//
// Listed takes a name and returns it as Azure lists it.
//
// Non-goals:
//   - whether a size exists: only Azure can answer that
package azuresizes
