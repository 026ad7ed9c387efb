// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installed types the commands of docs/install.md in a cluster that has none of Poundlock: the Deployment's replicas run as processes behind the real controllers of
// Deployments, ReplicaSets and EndpointSlices, and the API server calls them through the Service.
//
// Non-goals: what Poundlock does once it runs (test/journeys), and the image (the package's other half, image_test.go, reads what `make image` wrote).
package installed
