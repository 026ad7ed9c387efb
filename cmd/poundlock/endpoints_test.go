// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/poundlock/poundlock/internal/connections"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestSecureMetricsOfAManagerWithoutWebhooks: it signs its certificate itself, and answers nobody whom the API server does not know.
func TestSecureMetricsOfAManagerWithoutWebhooks(t *testing.T) {
	s := settings{options: options{metricsAddress: freeAddress(t), metricsSecure: true}}
	mgr, err := newManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{}, endpointsOf(s, connections.NewLive(s.tls), &lateCertificate{}))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = mgr.Start(t.Context()) }()
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // nobody knows the certificate
	for scheme, want := range map[string]int{"https": http.StatusUnauthorized, "http": http.StatusBadRequest} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+s.metricsAddress+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := trusting.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: HTTP %d, want %d", scheme, answer.StatusCode, want)
		}
	}
}

// TestTheEndpointsLimitTheirClients: one client can use only a little of the process, also at the ports of the probes and the metrics.
func TestTheEndpointsLimitTheirClients(t *testing.T) {
	e := endpoints{health: freeAddress(t), metrics: freeAddress(t)}
	mgr, err := newManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{}, e)
	if err != nil {
		t.Fatal(err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		t.Fatal(err)
	}
	go func() { _ = mgr.Start(t.Context()) }()
	get := func(address, path string, header int) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Long", strings.Repeat("a", header))
		r.Close = true
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	for _, c := range []struct{ address, path, has string }{
		{e.health, "/readyz?verbose", "[+]ping ok"}, {e.health, "/readyz/ping", "ok"}, {e.health, "/healthz", "ok"}, {e.metrics, "/metrics", "go_goroutines"},
	} {
		if code, text := get(c.address, c.path, 10); code != http.StatusOK || !strings.Contains(text, c.has) {
			t.Errorf("%s: HTTP %d, %s", c.path, code, text[:min(len(text), 200)])
		}
		if code, _ := get(c.address, c.path, 100<<10); code != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s with a header of 100 KiB: HTTP %d", c.path, code)
		}
	}
	for _, address := range []string{e.health, e.metrics} {
		var last net.Conn
		for range endpointConnections + 1 {
			if last, err = net.Dial("tcp", address); err != nil {
				t.Fatal(err)
			}
			defer func(c net.Conn) { _ = c.Close() }(last)
		}
		_ = last.SetDeadline(time.Now().Add(3 * time.Second)) // sooner than any limit for its request
		_, _ = fmt.Fprint(last, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		if n, err := last.Read(make([]byte, 1)); n != 0 || strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: one connection too many is served, or kept: %v", address, err)
		}
	}
}
