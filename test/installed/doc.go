// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installed tests the commands of docs/install.md in a cluster without Poundlock. The Deployment's replicas run
// as processes behind the real controllers of Deployments, ReplicaSets and EndpointSlices. The API server calls them
// through the Service. So do the pods of `make run INSTALL=1`: those of poundlock install and of the Cluster API that it
// installs.
//
// The package's other half, image_test.go, reads the image that `make image` wrote.
//
// Non-goals:
//   - what Poundlock does once it runs: see test/journeys
package installed
