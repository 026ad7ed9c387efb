// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/http"
	"slices"
	"sync/atomic"
)

// Match reports whether a rule is about a request. It is called once for each request, in the order in which they come, by one goroutine at a time.
type Match func(Request) bool

// Effect returns what happens to a request that a rule matches. next is what would have happened without the rule. The effect may call next first, last or
// never.
type Effect func(next http.Handler) http.Handler

// Rule applies an effect to some of the requests.
type Rule struct {
	// When matches the requests that the rule is about. nil matches every request.
	When Match
	Do   Effect
}

// Stores matches everything that asks to change something.
func Stores(r Request) bool { return r.Stores() }

// Reads matches GET and LIST.
func Reads(r Request) bool { return r.Verb == "get" || r.Verb == "list" }

// Watches matches watches.
func Watches(r Request) bool { return r.Verb == "watch" }

// Both matches a request that all of the matches match. It does not call the matches after the first one that fails.
func Both(all ...Match) Match {
	return func(r Request) bool {
		return !slices.ContainsFunc(all, func(m Match) bool { return !m(r) })
	}
}

// Nth matches only one request: the n-th, from 1, that m matches.
func Nth(n int, m Match) Match {
	var seen atomic.Int64
	return func(r Request) bool { return m(r) && seen.Add(1) == int64(n) }
}

// Every matches each n-th request that m matches. A request that is sent again then passes.
func Every(n int, m Match) Match {
	var seen atomic.Int64
	return func(r Request) bool { return m(r) && seen.Add(1)%int64(n) == 0 }
}

// OneOf matches one of each n requests that m matches, at a position that changes each time. With Every, a controller whose pass sends n requests would fail at
// the same request each time.
func OneOf(n int, m Match) Match {
	var seen atomic.Uint64
	return func(r Request) bool {
		if !m(r) {
			return false
		}
		now := seen.Add(1) - 1
		drawn := (now/uint64(n) + 1) * 0x9e3779b97f4a7c15 >> 32
		return now%uint64(n) == drawn%uint64(n)
	}
}

// Lay puts a rule in force until lift is called. If several rules match a request, the one that was laid last gets the request first.
func (w *Wire) Lay(r Rule) (lift func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	laid := &r
	w.rules = append(w.rules, laid)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.rules = slices.DeleteFunc(w.rules, func(other *Rule) bool { return other == laid })
	}
}

// bent returns the handler of one request: way, which goes to the server, with the effects of all matching rules around it.
func (w *Wire) bent(r Request, way http.Handler) http.Handler {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, rule := range w.rules {
		if rule.When == nil || rule.When(r) {
			way = rule.Do(way)
		}
	}
	return way
}
