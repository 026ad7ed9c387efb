// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generate keeps an inactive ControlPlaneMachineSet in clusters that have none of their own
// (control-plane-machine-set-controller › Installing a ControlPlaneMachineSet within an existing cluster).
//
// It generates the set from the newest Machine of the control plane, and keeps the set up to date. It recreates the set
// after somebody has deleted it. Package policies/controlplane/generator decides from which Machine the set is
// generated (Generate), and which fields of a stored set follow that Machine (Next).
//
// A set has an annotation with the content that it was last generated with. A patch contains only fields that still
// equal this record, and the resourceVersion of the set. So it never overwrites an edit or an activation. A pass reads
// from a cache. Before it creates or deletes a set, it reads everything again from the API server.
//
// If no set can be generated, an event on the missing set and a metric report why. A set that exists has the condition
// Generated.
//
// Non-goals:
//   - platforms: see policies/controlplane
//   - what an active set does: see reconcilers/rollout
package generate
