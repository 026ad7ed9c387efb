// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// guarded serves a handler behind a guard with `turns` slots.
func guarded(t *testing.T, turns int, next http.HandlerFunc) (*guard, *atomic.Bool, *httptest.Server) {
	t.Helper()
	stopping := &atomic.Bool{}
	g := newGuard(next, make(chan struct{}, turns), stopping.Load)
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	return g, stopping, s
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = fmt.Fprintf(w, "%d bytes", len(body))
}

func TestAReplicaThatStopsClosesItsConnections(t *testing.T) {
	_, stopping, s := guarded(t, 1, echo)
	for _, stops := range []bool{false, true} {
		stopping.Store(stops)
		r, err := s.Client().Post(s.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.Close != stops {
			t.Errorf("stopping: %t, closes: %t", stops, r.Close)
		}
	}
}

func TestAReviewHasToArrive(t *testing.T) {
	g, _, s := guarded(t, 1, echo)
	g.body = 50 * time.Millisecond
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
		t.Errorf("%v: %q", err, answer)
	}
}

func TestAReviewWaitsForItsTurn(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	g, _, s := guarded(t, 1, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(arrived)
			<-release
		}
		echo(w, r)
	})
	g.patience = 20 * time.Millisecond
	status := func(path string) int {
		r, err := s.Client().Post(s.URL+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	slow := make(chan int)
	go func() { slow <- status("/slow") }()
	<-arrived
	if got := status("/fast"); got != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d", got)
	}
	close(release)
	if got := <-slow; got != http.StatusOK {
		t.Errorf("the one before: %d", got)
	}
	if got := status("/fast"); got != http.StatusOK {
		t.Errorf("afterwards: %d", got)
	}
}
