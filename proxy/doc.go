// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy runs beside a client of Cluster API and lets it work on private types under their standard names.
//
// The proxy takes the client's requests, in plain HTTP on loopback. It sends the same requests to the API server, with the pod's identity, and returns the
// answers. Package translation decides what to translate, and how. This package moves the bytes, in constant memory, and counts requests and errors.
//
//	client ──HTTP──▶ Host filter ──▶ request ──TLS──▶ API server
//	       ◀──────────────────────── response ◀──────
//
// An answer that cannot be translated becomes an error with a Status. If its beginning has been sent already, the connection breaks. It never becomes a shorter
// answer that looks complete. The proxy does not ask the API server for answers that are compressed, protobuf or CBOR. It answers a request that cannot be
// translated with an error, also as a Status.
//
// Non-goals:
//   - caching, state, and repeating requests
//   - authentication: each client that reaches its address has the pod's rights
//   - authorization: the API server decides, by the names that it stores
package proxy
