// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package served lets a manager run while CustomResourceDefinitions are absent, and while they are created and deleted.
//
// New makes a cache that watches the metadata of the CustomResourceDefinitions. The cache watches an unstructured kind only while the API server serves the
// kind. It has the interface of a controller-runtime cache, and returns the objects of kinds that are served. For any other kind:
//
//   - A read fails at once with a *meta.NoKindMatchError, and does not wait for a list that cannot come.
//   - An informer counts as synced, so that controllers start. Its handlers and indices are kept, and move to the real
//     informer when the kind appears.
//   - The cache sends no request until a CustomResourceDefinition changes.
//
// Get, Read and List read objects for a reconciler. A Watcher makes its controller watch kinds. Changes is a source that queues requests whenever a kind
// appears or disappears. Missing recognizes the errors about kinds that are not served, from the cache and from live reads.
//
// Non-goals:
//   - what the absence of a kind means: the caller decides whether no object exists, or whether it can conclude
//     nothing
//   - typed objects: the kinds that are built into the API server do not disappear
package served
