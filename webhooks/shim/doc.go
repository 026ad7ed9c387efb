// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shim answers the API server's conversion reviews of private types. It uses the converters that Cluster API and its
// providers have for the standard types.
//
// A ConversionReview (v1 or v1beta1) is about objects of cluster.hypershift.openshift.io and the groups beneath it. Package
// translation gives the objects their standard names, and the converter of their group converts them. Then translation gives
// the converted objects their private names again. The shim's answer has the same number of objects, in the same order. If a
// review cannot be converted, the answer is Failed, with a sentence that names the converter.
//
//	API server ──▶ Shim ──▶ upstreams: the longest suffix of the group ──▶ a converter's /convert
//	                │ retries within Options.Budget: the API server itself calls once, and waits 30 s
//	                ▼
//	               metrics, log
//
// Non-goals:
//   - converting versions: the package has no types of Cluster API
//   - metadata: the API server restores everything but labels and annotations, and those are not translated
//   - admission webhooks
package shim
