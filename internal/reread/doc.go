// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reread repeats a read that the API server could not answer.
//
// One pass of a reconciler reads up to a dozen objects from the API server, and starts again if one read fails. If the API server failed one request in ten,
// two passes out of three would fail.
//
// Transport wraps an http.RoundTripper, for rest.Config.Wrap.
//
// Non-goals:
//   - writes: the next pass reads whether a write was stored
//   - 429, and 503 with Retry-After: client-go repeats those itself
package reread
