// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests holds the manifests that run Poundlock in a cluster. They are kustomizations: a base, and an overlay
// for each way to a serving certificate.
//
//	overlays/openshift      the service CA signs and injects; a ServiceMonitor
//	overlays/cert-manager   cert-manager signs and injects
//	overlays/self-managed   Poundlock signs and injects itself: nothing else is needed
//	overlays/dev            a manager outside the cluster: webhooks by URL, no Deployment
//	crds                    the authority fields for the kinds whose published CRDs lack them
//
// Generated generates the manifests that follow from the code, and a test compares them with the files. The webhook configurations follow from webhooks.Routes,
// the roles from the kinds and platforms, and the CRD patches from the Machine's own schema. Names and namespaces are defaults, which an overlay may change.
//
// Non-goals:
//   - what the manager does: see cmd/poundlock
package manifests

//go:generate go test . -run ^TestGenerated$ -update
