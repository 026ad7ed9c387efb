// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests holds what a cluster is given to run Poundlock: kustomize, a base and an overlay for each way to a
// serving certificate.
//
//	overlays/openshift      the service CA signs and injects; a ServiceMonitor
//	overlays/cert-manager   cert-manager signs and injects
//	overlays/self-managed   Poundlock signs and injects itself: nothing else is needed
//	overlays/dev            a manager outside the cluster: webhooks by URL, no Deployment
//	crds                    the authority fields for the kinds whose published CRDs lack them
//
// Whatever follows from the code is generated from it (Generated) and compared by a test: webhooks from
// webhooks.Routes, roles from the kinds and platforms, CRD patches from the Machine's own schema. It knows names and
// namespaces as defaults, to be changed by an overlay, and refuses to know what the manager does.
package manifests

//go:generate go test . -run ^TestGenerated$ -update
