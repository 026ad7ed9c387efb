// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy runs beside a client of Cluster API and lets it work on private types under their standard names.
//
// In go the client's requests, in plain HTTP on loopback; out go the same requests to the API server, with the pod's identity, and their answers. What is
// translated on the way, and how, package translation decides; this package moves the bytes, in constant memory, and counts.
//
//	client ──HTTP──▶ Host filter ──▶ request ──TLS──▶ API server
//	       ◀──────────────────────── response ◀──────
//
// An answer that cannot be translated ends in a broken connection, and never in a shorter answer that looks complete. Compressed, protobuf and CBOR answers are
// not asked for. A request that cannot be translated is refused with a Status.
//
// Non-goals:
//   - It keeps no cache and no state, and repeats no request.
//   - It authenticates nobody: who reaches its address has the pod's rights.
//   - It decides nothing about rights: the API server does, by the names that it stores.
package proxy
