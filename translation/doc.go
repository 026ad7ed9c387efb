// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translation exchanges API group names in the documents of the Kubernetes API, so that Cluster API's controllers run unmodified on private types.
//
// A client speaks of cluster.x-k8s.io and the groups beneath it (Standard); the API server stores cluster.hypershift.openshift.io (Private). In go bytes, a
// Direction and the Document that they are; out come the same bytes, but for the values that Rows names. Whatever Rows does not name stays byte for byte, and
// Never lists what looks like a group name and is none.
//
//	path, query ──▶ Endpoint ──▶ Document ──▶ Scanner (JSON), Patch (JSON patch), YAML, Protobuf
//	                                             ▲
//	                            Rows, Never ─────┘
//
// The Scanner streams: it holds one token, or one object that may have to be hidden, and never a body. It accepts what encoding/json accepts. Malformed and
// truncated input is an error and is never repaired.
//
// Non-goals:
//   - It has no client, no connection, no clock and no metrics: the proxy and the conversion shim have them.
//   - It knows no kinds and no fields of Cluster API. A reference is what has an apiVersion or an apiGroup.
//   - It does not translate RBAC rules, webhook configurations, quotas and targets of autoscalers: who writes those names both groups.
package translation
