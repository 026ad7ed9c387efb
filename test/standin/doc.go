// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standin plays, on an API server alone, what a cluster has that rolls workloads out and issues certificates: the controllers of Deployments and
// DaemonSets with their pods, the endpoints of Services, and OpenShift's service CA.
//
// In go a client and a namespace; out come status, EndpointSlices, Secrets and caBundles, as the real ones write them. A test can have workloads crash.
//
// Non-goals: there are no pods and no processes, and nothing answers behind an endpoint.
package standin
