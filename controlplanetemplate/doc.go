// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplanetemplate converts the template of a ControlPlaneMachineSet between the two APIs.
//
// Resolve takes the infrastructure machine template that the set names for Cluster API. It returns the providerSpec that
// the template converts to, so that a planner reads only Machine API's form. Reflect takes a providerSpec and returns the
// template that it corresponds to. Both run the conversion of a MachineSet's template, and no other code.
//
// The package joins policies/controlplane (sets) and conversion (fields). It decides which objects of the cluster a
// conversion needs.
//
// Non-goals:
//   - reading these objects: a Get is the caller's.
package controlplanetemplate
