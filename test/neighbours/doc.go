// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neighbours has stand-ins for components of OpenShift that write to the objects of the two APIs: a file for each, with the identity that it has in a cluster, the
// requests that it really sends (verb, whole object or patch), and when. What goes in are objects as the API server has them; what comes out are its requests.
// Log keeps what the API server answered, so that a test can say that no request was refused, and that nobody fights over a field.
//
// It does not know Poundlock: a writer decides by what its component reads, and most of them have never heard of spec.authoritativeAPI.
package neighbours
