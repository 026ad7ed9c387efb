// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machineapi names the labels and annotations of the Machine API, and of the Nodes of its Machines, for which no module that Poundlock imports has a
// constant.
//
//   - what a label or an annotation causes
//   - names that a module has: see machinev1beta1, clusterv1 and corev1
//   - the stand-ins for OpenShift's own controllers in tests: they spell the names themselves, so that a mistake in this package is noticed
//   - what stands in for OpenShift's own controllers in tests: it types its names itself, so that a mistake here is seen
package machineapi
