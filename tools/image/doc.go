// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Program image builds Poundlock's container image without a container engine.
//
// It builds static binaries for two platforms from the source tree, and images from scratch with them. It writes an OCI layout with both images, and an archive
// of each that `podman load` and `docker load` accept. It reads the layout and the archives again to validate them. The flag -push sends the image to a
// registry.
//
// Non-goals:
//   - signatures
//   - any content of the image except for the binary and the licences
package main
