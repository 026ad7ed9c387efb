// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire puts a proxy between one client and the API server. A test can cut that connection. The proxy listens on loopback and ends TLS. It records every
// write in order, and rules can answer, lose, hold or spoil a request. Watches and HTTP/2 pass through.
//
// In go requests; a rule sees verb, resource, subresource, name and dry run of each. Out come the requests that the
// rules let pass, and their answers.
//
// The wire presents the client's own certificate to the API server. Impersonation would need a right that the client
// does not have, and would show in every review. With the client's certificate, the server sees exactly the same user as
// before. So a wire belongs to one identity, and refuses a client without a certificate of the cluster's authority.
//
// Non-goals:
//   - Poundlock, and what a test concludes from an outcome
package wire
