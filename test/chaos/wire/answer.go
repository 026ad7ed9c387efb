// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"maps"
	"net/http"
	"sync"
)

// answer is a whole answer of the server.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(code int) {
	if a.code == 0 && code >= http.StatusOK {
		a.code = code
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

func (a *answer) send(rw http.ResponseWriter) {
	maps.Copy(rw.Header(), a.header)
	rw.WriteHeader(max(a.code, http.StatusOK))
	_, _ = rw.Write(a.body.Bytes()) // a client that has gone needs no answer
}

// question returns the key of a request in memory: requests with equal keys have equal answers.
func question(r Request) string { return r.Accept + " " + r.URL }

// memory keeps the last answer to each question.
type memory struct {
	mu   sync.Mutex
	last map[string]*answer
}

func (m *memory) snapshot() map[string]*answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.last)
}

// of returns a handler that passes requests on to next and remembers the answers.
func (m *memory) of(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		a := &answer{header: http.Header{}}
		next.ServeHTTP(a, r)
		m.mu.Lock()
		m.last[question(asked(r))] = a
		m.mu.Unlock()
		a.send(rw)
	})
}
