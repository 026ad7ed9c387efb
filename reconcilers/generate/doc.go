// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generate keeps an inactive ControlPlaneMachineSet in clusters that have none of their own
// (control-plane-machine-set-controller › Installing a ControlPlaneMachineSet within an existing cluster).
//
// It makes the set from the newest Machine of the control plane, and keeps it up to date. It recreates the set after
// somebody deleted it. The function controlplane.Keep decides from which Machine the set is made. It also decides which
// fields of a stored set follow.
//
// A set records in an annotation what it was last generated with. A patch carries only fields that still equal that
// record, and its resourceVersion. So it never overwrites an edit or an activation. A pass reads a cache. Before it
// creates or deletes a set, it reads everything again from the API server.
//
// Where no set can be generated, an event on the missing set and a metric report why. A set that exists has the
// condition Generated.
//
// Non-goals:
//   - platforms: see policies/controlplane
//   - what an active set does: see reconcilers/rollout
package generate
