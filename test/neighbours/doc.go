// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neighbours simulates components of OpenShift that write to the objects of the two APIs. Each file is one
// component, with the identity that it has in a cluster. It sends the requests that the component really sends (verb,
// whole object or patch), at the same moments.
//
// In go objects as the API server has them. Out come the component's requests. Log keeps the API server's answers. So a
// test can check that no request was refused, and that no two writers fight over a field.
//
// Non-goals:
//   - Poundlock: a writer decides by what its component reads, and most of them do not read spec.authoritativeAPI
package neighbours
