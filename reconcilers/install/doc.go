// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install installs the providers of Cluster API that a release carries, and keeps them installed
// (installing-cluster-api-components › Proposal 2).
//
// A pass reads everything from the API server, asks package installation what to do, and writes what is missing. It
// ends at the first gate that is not open yet. The next pass begins at the first stage again and finds the finished
// stages. So a crash between any two writes needs no repair, and a pass without changes writes nothing.
//
//	gather ──▶ select ──▶ for each provider: inventory ──▶ stages 1 … 10 ──▶ storage versions ──▶ last good content ──▶ prune
//	                                                                                              └──▶ ClusterOperator, events, metrics
//
// Non-goals:
//   - deciding on owners, gates, drift and the Degraded condition: see installation
//   - uninstalling: it leaves everything in place for an unsupported platform and for a deleted ConfigMap
//   - working beside OpenShift's own cluster-capi-operator: while that operator runs, the installer writes nothing
package install
