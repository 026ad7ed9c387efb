// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package served lets a manager run while CustomResourceDefinitions are absent, come and go.
//
// New makes a cache that follows the CustomResourceDefinitions by their metadata. It watches an unstructured kind only
// while the API server serves it. It takes what a controller-runtime cache takes, and returns the objects of kinds that
// are served. For any other kind:
//
//   - A read fails at once with a *meta.NoKindMatchError, and does not wait for a list that cannot come.
//   - An informer counts as synced, so that controllers start. Handlers and indices are kept, and move to the real
//     informer when the kind appears.
//   - It sends no request until a CustomResourceDefinition changes.
//
// Get, Read and List read for a reconciler, and a Watcher wakes it. Changes is a source of requests for each time that a
// kind appears or disappears. Missing recognizes the errors of the cache and of live reads.
//
// Non-goals:
//   - what the absence of a kind means: the caller decides whether no object exists, or whether it can conclude
//     nothing
//   - typed objects: the kinds that are built into the API server do not disappear
package served
