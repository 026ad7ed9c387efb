// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package private is a stage of private types: an API server with the platform's standard definitions, the private ones beside them as the
// plugin installs them, proxy and shim as processes, Cluster API's real core manager behind the proxy, and real providers, too, or a stand-in
// for the infrastructure's. `make run PRIVATE=1` shows it.
//
// Non-goals:
//   - There is no kubelet: the Deployments that the plugin makes are processes here.
//   - It has nothing of the Machine API: see test/testcluster.
package private
