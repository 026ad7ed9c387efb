// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standin imitates the parts of a cluster that a bare API server lacks: those that run workloads and issue certificates.
//
//	Standin   the status that Deployments and DaemonSets have when their pods run, the endpoints of Services, and OpenShift's service CA. There are no pods
//	          and no processes. A test can make workloads crash.
//	Kubelet   a node that runs pods as processes, with their arguments, Secrets and ServiceAccounts, if the control plane has the real controllers
//	Network   the API server's way to Services and the pods behind them
//
// In go a client and a namespace. Out come status, EndpointSlices, Secrets, caBundles and processes, in the form in which the real parts make them.
//
// Non-goals:
//   - images, init containers, volumes but Secrets, scheduling and limits
//   - pods that reach each other
package standin
