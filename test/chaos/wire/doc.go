// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire is the line between one client and the API server, as something that a test can cut: a proxy on loopback that ends TLS, knows what each
// request is (verb, resource, subresource, name, dry run), writes down every write in order, and lets rules answer, lose, hold or spoil it. Watches and HTTP/2 pass through.
//
// Who the client is: the wire presents the client's own certificate to the API server. Impersonation would need a right that the client does not have,
// and would show in every review; a certificate handed on makes the server see exactly the user it saw before. So a wire belongs to one identity, and lets in
// nobody without a certificate of the cluster's authority.
//
// It knows HTTP and the API server's way of naming things. It refuses to know Poundlock, and what a test thinks of an outcome.
package wire
