// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package translation exchanges API group names in the documents of the Kubernetes API. With it, Cluster API's
// controllers run unmodified on private types.
//
// A client uses cluster.x-k8s.io and the groups beneath it (Standard). The API server stores cluster.hypershift.openshift.io (Private). The functions take
// bytes, a Direction and a Document, which says what form the bytes have. They return the bytes with those values translated that the table Rows names.
// Everything else stays byte for byte. The list Never has the strings that only look like a group name.
//
//	path, query ──▶ Endpoint ──▶ Document ──▶ Scanner (JSON), Patch (JSON patch), YAML, Protobuf
//	                                             ▲
//	                            Rows, Never ─────┘
//
// The Scanner streams. It holds one token, or one object that may have to be hidden, and never a whole body. It accepts what encoding/json accepts. Malformed
// or truncated input is an error and is never repaired.
//
// Non-goals:
//   - clients, connections, clocks and metrics: see proxy and webhooks/shim
//   - the kinds and fields of Cluster API: a reference is any object with an apiVersion or an apiGroup
//   - translating RBAC rules, webhook configurations, quotas and targets of autoscalers: their authors name both
//     groups
package translation
