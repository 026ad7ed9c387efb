// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// TestAnEndpointHasDeadlines: a client that sends slowly loses its connection. One that has sent its request waits for the answer as long as that takes, because
// who may get the metrics is asked of the API server, which may be slow.
func TestAnEndpointHasDeadlines(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Endpoint(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/soon" {
			return
		}
		select {
		case <-r.Context().Done():
			w.WriteHeader(http.StatusInternalServerError)
		case <-time.After(EndpointDeadline + time.Second):
		}
	}))
	go func() { _ = s.Serve(New(l, EndpointConnections)) }()
	t.Cleanup(func() { _ = s.Close() })
	for name, c := range map[string]struct{ sends, want string }{
		"an answer that takes long":     {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200"},
		"nothing":                       {"", ""},
		"a part of the headers":         {"GET / HTTP/1.1\r\nHost:", ""},
		"a part of a body":              {"GET /soon HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc", "HTTP/1.1 200"},
		"headers that are far too long": {"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", "HTTP/1.1 431"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(EndpointDeadline + 5*time.Second))
			fmt.Fprint(conn, c.sends)
			all, err := io.ReadAll(conn)
			late := errors.Is(err, os.ErrDeadlineExceeded) // a connection may be reset whose client has sent more
			if answer := string(all); late || !strings.HasPrefix(answer, c.want) || c.want == "" && strings.Contains(answer, " 200 ") {
				t.Errorf("%q, %v; want %q, and the end of the connection in time", answer, err, c.want)
			}
		})
	}
	for name, limit := range map[string]time.Duration{"answers": s.WriteTimeout, "idle connections": s.IdleTimeout} {
		if limit <= 0 || limit > 5*time.Minute {
			t.Errorf("the limit of %s is %s", name, limit)
		}
	}
}
