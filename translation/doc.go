// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translation exchanges API group names in the documents of the Kubernetes API. So Cluster API's controllers run
// unmodified on private types.
//
// A client uses cluster.x-k8s.io and the groups beneath it (Standard). The API server stores
// cluster.hypershift.openshift.io (Private). In go bytes, a Direction and their Document. Out come the same bytes, but
// for the values that Rows names. Everything else stays byte for byte. Never lists the strings that look like a group
// name and are none.
//
//	path, query ──▶ Endpoint ──▶ Document ──▶ Scanner (JSON), Patch (JSON patch), YAML, Protobuf
//	                                             ▲
//	                            Rows, Never ─────┘
//
// The Scanner streams. It holds one token, or one object that may have to be hidden, and never a body. It accepts what
// encoding/json accepts. Malformed and truncated input is an error and is never repaired.
//
// Non-goals:
//   - clients, connections, clocks and metrics: see proxy and webhooks/shim
//   - the kinds and fields of Cluster API: a reference is any object with an apiVersion or an apiGroup
//   - translating RBAC rules, webhook configurations, quotas and targets of autoscalers: their authors name both
//     groups
package translation
