// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installed tests the commands of docs/install.md in a cluster without Poundlock. The replicas of Poundlock's Deployment run as processes, behind the
// real controllers of Deployments, ReplicaSets and EndpointSlices. The API server calls them through the Service. The pods of `make run INSTALL=1` run in the
// same way: those of `poundlock install`, and of the Cluster API that it installs.
//
// The image that `make image` writes is tested in tools/image.
//
// Non-goals:
//   - what Poundlock does once it runs: see test/journeys
package installed
