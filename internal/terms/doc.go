// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terms runs the reconcilers of a process only while the process holds a Lease. The rest of the process always runs.
//
// Add makes a manager compete for the Lease. A term lasts from the moment in which the process gets the Lease until it loses the Lease or has to end. Each term
// has a manager of its own, with the controllers that a function adds to it. The term's manager reads from the cache of the process, so a second term need not
// list objects again. When the Lease is lost, the term's controllers stop, and the process competes again.
//
// Nothing is written without the Lease:
//
//   - The term ends as soon as the process sees that the Lease has another holder or is gone, or if it could not renew the Lease in time.
//   - From then on, the term's client sends no request that changes something, even if a controller still runs. After a process was suspended, the client finds
//     before the first write that the Lease is too old.
//   - The Lease is released only after the controllers have stopped. If they do not stop in time, Start fails, and the process ends.
//
// Non-goals:
//   - requests that the API server has already received: these are protected by preconditions on the resourceVersion
//   - a Lease that somebody deletes: until the next renewal, two processes may hold it
package terms
