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
// Generated makes from the code whatever follows from it, and a test compares the files. Webhooks follow from
// webhooks.Routes, roles from the kinds and platforms, CRD patches from the Machine's own schema. Names and namespaces
// are defaults, which an overlay changes.
//
// Non-goals:
//   - what the manager does: see cmd/poundlock
package manifests

//go:generate go test . -run ^TestGenerated$ -update
