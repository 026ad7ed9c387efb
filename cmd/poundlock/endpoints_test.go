// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/internal/connections"
	"github.com/poundlock/poundlock/internal/fair"
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
	for address, most := range map[string]int{e.health: fair.EndpointConnections, e.metrics: scrapers} {
		var last net.Conn
		for range most + 1 {
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

// TestScrapesTakeLittleMemory: clients that ask for metrics and read no answer keep only a limited number of answers in memory.
func TestScrapesTakeLittleMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have one loopback address, and one client has fewer connections than this test needs")
	}
	failing := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "large", Help: "h"}, []string{"name"})
	for i := range 10_000 {
		failing.WithLabelValues(fmt.Sprintf("a-machine-of-a-fleet-whose-names-are-as-long-as-those-of-its-regions-%d", i)).Set(1)
	}
	metrics.Registry.MustRegister(failing)
	t.Cleanup(func() { metrics.Registry.Unregister(failing) })
	e := endpoints{metrics: freeAddress(t)}
	mgr, err := newManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{}, e)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = mgr.Start(t.Context()) }()
	var answers []net.Conn
	for i := range 2 * scrapes {
		client := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i/scrapers+1))}}
		conn, err := client.Dial("tcp", e.metrics)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, _ = fmt.Fprint(conn, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
		answers = append(answers, conn)
	}
	given := map[string]int{}
	for _, conn := range answers {
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		begin := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(conn, begin); err != nil {
			t.Fatal(err)
		}
		given[string(begin)]++
	}
	if given["HTTP/1.1 200"] != scrapes || given["HTTP/1.1 503"] != scrapes {
		t.Errorf("%v, want %d of each", given, scrapes)
	}
}

// TestAnAddressThatIsTaken: the message names the flag and the remedy.
func TestAnAddressThatIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for flag, c := range map[string]struct {
		e        endpoints
		profiles string
	}{
		"--health-bind-address":  {e: endpoints{health: taken.Addr().String()}},
		"--metrics-bind-address": {e: endpoints{health: "0", metrics: taken.Addr().String()}},
		"--profiler-address":     {e: endpoints{health: "0", metrics: "0"}, profiles: taken.Addr().String()},
	} {
		_, err := newManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{PprofBindAddress: c.profiles}, c.e)
		if err == nil || !strings.HasPrefix(err.Error(), flag+": ") || !strings.Contains(err.Error(), "give another address") {
			t.Errorf("%v, want a sentence that names %s", err, flag)
		}
	}
}
