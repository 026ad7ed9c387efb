// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generate keeps an inactive ControlPlaneMachineSet in clusters that have none of their own
// (control-plane-machine-set-controller › Installing a ControlPlaneMachineSet within an existing cluster): made from the newest Machine of the
// control plane, brought up to date with the cluster, and recreated when somebody has deleted it.
//
// What a set is made from, and what of a stored one follows, is decided by controlplane.Keep. A set remembers in an annotation what it was
// last generated with: a patch carries only fields that still say that, and its resourceVersion, so that it never meets an edit, or an activation,
// that it does not know of. A pass looks at a cache. Only if that calls for a set to be created or deleted is everything read again from the API server.
//
// Where no set can be generated, an event on the missing set says why, and a metric; one that is there has the condition Generated.
//
// It knows how the set is written. It refuses to know platforms, and what an active set does (reconcilers/rollout).
package generate
