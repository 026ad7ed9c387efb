// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation decides how providers of Cluster API come into a cluster and stay there: which ConfigMaps make which provider, in what order
// objects are applied, what each stage waits for, whose an object is, what in it is drift, what is pruned, and what the ClusterOperator shows.
//
// In go the ConfigMaps of a release, the Infrastructure, and live objects. Out come a Selection, the Objects to apply, the sentence that a gate waits for
// ("" when it is open), the Items to prune, and the Conditions of a Report.
//
//	ConfigMaps ──▶ Select ──▶ Prepare ──▶ Objects ──▶ stage 1 … stage 10 ──▶ prune
//	                  │ problem                          │ a gate waits
//	                  └──▶ the last good content         └──▶ the next pass begins here
//
// Non-goals:
//   - It has no client and no clock: reconcilers/install reads and writes.
//   - It does not read what a provider's manifests mean: bundle does.
package installation
