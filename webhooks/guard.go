// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"net/http"
	"time"
)

// Limits for clients of the server. Anyone who reaches the port may connect, because by default an API server presents no client certificate.
const (
	// bodyDeadline is the time within which a review must arrive. API servers send a review as a whole and at once.
	bodyDeadline = 5 * time.Second
	// answerDeadline is longer than any webhook's timeout, which Kubernetes limits to 30 s.
	answerDeadline = 35 * time.Second
	// mostReviews is how many reviews are read and judged at the same time, so that clients can use only a limited part of the process. Further reviews wait for a
	// turn (patience). A review takes milliseconds, so 256 turns suffice for thousands of reviews a second.
	mostReviews = 256
	// patience is how long a review waits for its turn before it gets the status 503. Two seconds leave time for the lookups before the API server's timeout
	// (TimeoutSeconds).
	patience = 2 * time.Second
)

// guard limits how many reviews the process answers at the same time and how long each connection may take. It makes API servers use another replica while this
// one stops.
type guard struct {
	next  http.Handler
	turns chan struct{}
	// draining reports whether the process was asked to stop.
	draining       func() bool
	body, patience time.Duration
}

func newGuard(next http.Handler, turns chan struct{}, draining func() bool) *guard {
	return &guard{next: next, turns: turns, draining: draining, body: bodyDeadline, patience: patience}
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.draining() {
		// With this header the API server sends its next review on another connection, to another replica. On this connection the review might arrive just when the
		// connection is closed, and be lost.
		w.Header().Set("Connection", "close")
	}
	until(w, g.body, answerDeadline)
	defer until(w, 0, 0) // the connection's next review has its own limits
	wait := time.NewTimer(g.patience)
	defer wait.Stop()
	select {
	case g.turns <- struct{}{}:
		defer func() { <-g.turns }()
	case <-wait.C:
		http.Error(w, "too many reviews at the same time: try again in a moment", http.StatusServiceUnavailable)
		return
	case <-r.Context().Done():
		return
	}
	g.next.ServeHTTP(w, r)
}

// until limits how long reading from a connection and writing to it may take; 0 means no limit. If a read times out after the body has arrived, Go's server
// considers the connection closed. So a handler that has read the body calls until again without a limit for reading.
func until(w http.ResponseWriter, read, write time.Duration) {
	at := func(d time.Duration) time.Time {
		if d == 0 {
			return time.Time{}
		}
		return time.Now().Add(d)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(at(read)) // a writer without a connection has no deadlines, and needs none
	_ = control.SetWriteDeadline(at(write))
}
