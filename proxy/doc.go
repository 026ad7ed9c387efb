// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy runs beside a client of Cluster API and lets it work on private types under their standard names.
//
// In go the client's requests, in plain HTTP on loopback. Out go the same requests to the API server, with the pod's
// identity. Their answers come back. Package translation decides what to translate, and how. This package moves the
// bytes, in constant memory, and counts.
//
//	client ──HTTP──▶ Host filter ──▶ request ──TLS──▶ API server
//	       ◀──────────────────────── response ◀──────
//
// An answer that cannot be translated becomes an error with a Status, or ends in a broken connection if its beginning
// has been sent. It never ends in a shorter answer that looks complete. The proxy does not ask for compressed, protobuf and CBOR answers. It refuses a request
// that cannot be translated, with a Status.
//
// Non-goals:
//   - caching, state, and repeating requests
//   - authentication: each client that reaches its address has the pod's rights
//   - authorization: the API server decides, by the names that it stores
package proxy
