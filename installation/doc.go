// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation decides how providers of Cluster API come into a cluster and stay there. It decides which
// ConfigMaps make a provider, the order of its objects, and what each stage waits for. It also decides who owns an
// object, which differences are drift, which objects to prune, and what the ClusterOperator shows.
//
// In go the ConfigMaps of a release, the Infrastructure, and live objects. Out come a Selection and the Objects to
// apply. For each gate comes the sentence that it waits for, "" when it is open. Last come the Items to prune and the
// Conditions of a Report.
//
//	ConfigMaps ──▶ Select ──▶ Prepare ──▶ Objects ──▶ stage 1 … stage 10 ──▶ prune
//	                  │ problem                          │ a gate waits
//	                  └──▶ the last good content         └──▶ the next pass begins here
//
// Non-goals:
//   - reading, writing and the clock: see reconcilers/install
//   - the meaning of a provider's manifests: see bundle
package installation
