// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install installs the providers of Cluster API that a release carries, in order, and keeps them as the release has them
// (installing-cluster-api-components › Proposal 2).
//
// A pass reads everything from the API server, asks installation, and writes what is missing. It ends at the first gate that is shut; the next pass begins at the
// first stage again and finds what is done. So a crash between any two writes needs no repair, and an unchanged pass writes nothing.
//
//	gather ──▶ select ──▶ for each provider: inventory ──▶ stages 1 … 10 ──▶ storage versions ──▶ last good content ──▶ prune
//	                                                                                              └──▶ ClusterOperator, events, metrics
//
// Non-goals:
//   - It does not decide: whose an object is, what a stage waits for, what is drift and what is degraded are installation's.
//   - It does not uninstall: a platform that is no longer supported, and a ConfigMap that was deleted, leave everything as it is.
//   - It does not work beside OpenShift's own cluster-capi-operator: where that runs, it writes nothing.
package install
