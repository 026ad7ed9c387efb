// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package converter has the test of the conversion shim between a real API server and Cluster API's own converter. It is not beside the shim: there it would
// run with the race detector, under which drawing and comparing its objects takes twice as long, and whatever the shim does at once is tested there.
package converter
