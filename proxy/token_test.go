// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// pipes is a listener to which connections are handed in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p <- there
	return here, nil
}

// A token that the kubelet has renewed counts a minute later, while the old one is still valid.
func TestATokenIsReadAgain(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	synctest.Test(t, func(t *testing.T) {
		var got string
		connections := make(pipes)
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") })} //nolint:gosec // in memory
		go func() { _ = server.Serve(connections) }()
		p, err := New(Options{Log: slog.New(slog.DiscardHandler), Upstream: &rest.Config{Host: "http://api", BearerTokenFile: token, Dial: connections.dial}})
		if err != nil {
			t.Fatal(err)
		}
		check := func(want string) {
			t.Helper()
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+machinesPath, http.NoBody))
			if w.Code != http.StatusOK || got != "Bearer "+want {
				t.Errorf("%d with %q, not %s", w.Code, got, want)
			}
		}
		check("old")
		write("new")
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock
		check("new")
		utilnet.CloseIdleConnectionsFor(p.multiple)
		close(connections)
		server.Close()
	})
}
