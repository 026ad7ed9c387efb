// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terms runs a part of a process while it holds a Lease, and the rest of the process always.
//
// Add has a manager compete for the Lease. A term lasts from the moment in which the process gets the Lease until it loses it or has to end. Each
// term has a manager of its own, with the controllers that a function adds to it. It reads from the cache of the process, so a second term lists nothing
// again. When the Lease is lost, the term's controllers stop, and the process competes again.
//
// Nothing is written without the Lease:
//
//   - The term ends as soon as the Lease is seen in other hands or gone, and when it could not be renewed in time.
//   - From then on the term's client sends no request that changes something, whatever a controller still does. A process that was suspended finds its
//     Lease too old before its first write.
//   - The Lease is released only after the controllers have stopped. If they do not stop in time, Start fails, and the process ends.
//
// Non-goals:
//   - requests that the API server has already received: conditions on the resource version are for these
//   - a Lease that somebody deletes: until the next renewal, two processes may hold it
package terms
