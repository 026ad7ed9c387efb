// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standin plays, on an API server alone, what a cluster has that runs workloads and issues certificates.
//
//	Standin   the controllers of Deployments and DaemonSets with their pods, the endpoints of Services, and OpenShift's service CA. There are no pods and no
//	          processes. A test can have workloads crash.
//	Kubelet   where the control plane has the real controllers: a node that runs pods as processes, with their arguments, Secrets and ServiceAccounts
//	Network   the API server's way to Services and the pods behind them
//
// In go a client and a namespace. Out come status, EndpointSlices, Secrets, caBundles and processes, as the real ones
// make them.
//
// Non-goals:
//   - images, init containers, volumes but Secrets, scheduling and limits
//   - pods that reach each other
package standin
