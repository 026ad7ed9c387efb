// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"net/http"
	"time"
)

// stream is a watch on its way to the client. What the server sends waits as long as the wire lags, and keeps its order.
type stream struct {
	http.ResponseWriter
	wire  *Wire
	ctx   context.Context
	parts chan part
	done  chan struct{}
}

type part struct {
	sent time.Time
	body []byte // nil: only flush
}

// watch passes a watch on. DropWatches can end it, and Lag delays it.
func (w *Wire) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer w.follow(cancel)()
		s := &stream{ResponseWriter: rw, wire: w, ctx: ctx, parts: make(chan part, 1024), done: make(chan struct{})}
		go s.pump()
		defer s.end()
		next.ServeHTTP(s, r.WithContext(ctx))
	})
}

// follow records a watch for DropWatches, until forget is called.
func (w *Wire) follow(drop context.CancelFunc) (forget func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches[&drop] = drop
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watches, &drop)
	}
}

// DropWatches ends every open watch, and returns how many there were.
func (w *Wire) DropWatches() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, drop := range w.watches {
		drop()
	}
	return len(w.watches)
}

// Lag delays the events of all watches by d from now on, also of those that are open already. 0 ends the delay.
func (w *Wire) Lag(d time.Duration) { w.lag.Store(int64(d)) }

func (s *stream) Write(p []byte) (int, error) {
	return len(p), s.put(part{sent: time.Now(), body: append([]byte{}, p...)})
}

// Flush passes on what the server wants the client to have at once: each event of a watch.
func (s *stream) Flush() { _ = s.put(part{sent: time.Now()}) }

func (s *stream) put(p part) error {
	select {
	case s.parts <- p:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *stream) pump() {
	defer close(s.done)
	flusher := http.NewResponseController(s.ResponseWriter)
	for p := range s.parts {
		due := p.sent.Add(time.Duration(s.wire.lag.Load()))
		if left := time.Until(due); left > 0 && !wait(s.ctx, left) || s.wire.gate.wait(s.ctx) != nil {
			continue // the watch was dropped, so the rest is discarded
		}
		if p.body != nil {
			_, _ = s.ResponseWriter.Write(p.body)
		} else {
			_ = flusher.Flush()
		}
	}
}

func (s *stream) end() {
	close(s.parts)
	<-s.done
	if s.ctx.Err() != nil {
		panic(http.ErrAbortHandler)
	}
}
