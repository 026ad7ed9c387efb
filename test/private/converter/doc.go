// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package converter tests the conversion shim between a real API server and Cluster API's own converter. The test is not beside the shim, where it would run
// with the race detector: drawing and comparing its objects then takes twice as long. What the shim does concurrently is tested beside it.
package converter
