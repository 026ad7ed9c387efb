// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fair limits what one client of a server can use before a request of it is read: its connections, and what the kernel keeps of them.
// A client is an IP address, because API servers present no certificate to webhooks.
// Non-goals:
//   - What a request may use: the server's handler decides it.
package fair
