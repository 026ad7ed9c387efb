// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Program image builds Poundlock's container image without a container engine.
//
// The source tree goes in, built to static binaries for two platforms, from scratch. An OCI layout with both comes out, and an
// archive of each that `podman load` and `docker load` take. It reads both again to validate them; -push sends the image to a
// registry.
//
// Non-goals:
//   - signatures
//   - anything in the image but the binary and the licences
package main
