// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package served lets a manager run while CustomResourceDefinitions are absent, come and go.
//
// New makes a cache that follows the CustomResourceDefinitions by their metadata and watches an unstructured kind only while the API server
// serves it. Into it goes what a controller-runtime cache takes; out of it come the objects of kinds that are served. For any other kind:
//
//   - a read fails at once with a *meta.NoKindMatchError, and does not wait for a list that cannot come;
//   - an informer counts as synced, so that controllers start; handlers and indices are kept, and put onto the real informer when the kind appears;
//   - no request is sent until a CustomResourceDefinition changes.
//
// Changes is a source of requests for each time that a kind appears or disappears. Missing recognizes the errors of the cache and of live reads.
//
// Non-goals:
//   - It does not judge what the absence of a kind means. That is the reader's to decide: no object of the kind exists, or nothing may be concluded.
//   - It does not follow typed objects. The kinds that are built into the API server do not disappear.
package served
