// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reread repeats a read that the API server could not answer.
//
// A pass reads up to a dozen objects from the API server, and starts again if one read fails. If a server fails one request in ten, two passes of three
// would fail.
//
// An http.RoundTripper goes in, for rest.Config.Wrap; one comes out.
//
// Non-goals:
//   - writes: whether one was stored is read by the next pass
//   - 429, and 503 with Retry-After: client-go repeats those itself
package reread
