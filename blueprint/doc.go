// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package blueprint knows what a ControlPlaneMachineSet makes Machines from, in the words of either API: Resolve reads the infrastructure machine
// template that the union's member for Cluster API names as the providerSpec of the other member, so that whoever plans sees only that; Reflect
// writes the template that the providerSpec stands for. Both are the conversion of a MachineSet's template, and of no other code.
//
// It joins policies/controlplane, which knows sets, and conversion, which knows fields, and it decides which objects of the cluster that takes. It
// refuses to know how they are read: a Get is the caller's.
package blueprint
