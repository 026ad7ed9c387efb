// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/poundlock/poundlock/internal/connections"

	"github.com/poundlock/poundlock/conversion/platforms"
)

// certificate returns httptest's own certificate, with the pool that trusts it.
func certificate(t *testing.T) (*tls.Certificate, *x509.CertPool, []byte) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &s.TLS.Certificates[0], pool, s.Certificate().Raw
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// listening returns a server without a cluster. It answers at /slow once release is closed.
func listening(t *testing.T, release chan struct{}, drain time.Duration) (s *Server, url string, c *http.Client, arrived chan struct{}) {
	t.Helper()
	cert, pool, _ := certificate(t)
	o := Options{
		Host: "127.0.0.1", Port: freePort(t), DrainDelay: drain,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert, nil }, TLS: connections.TLS{}.Apply,
	}
	s = &Server{options: o, Server: webhook.NewServer(webhook.Options{})}
	arrived = make(chan struct{})
	s.Register("/slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-release
		if err := r.Context().Err(); err != nil { // its lookups would fail
			_, _ = io.WriteString(w, err.Error())
		}
		_, _ = io.WriteString(w, "answered")
	}))
	s.Register("/fast", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answered") }))
	c = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
	return s, fmt.Sprintf("https://127.0.0.1:%d", o.Port), c, arrived
}

func get(c *http.Client, url string) error {
	r, err := c.Get(url)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(r.Body)
	if string(body) != "answered" {
		return errors.Join(err, r.Body.Close(), fmt.Errorf("got %q", body))
	}
	return errors.Join(err, r.Body.Close())
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

// A replica that must stop is first no longer ready, then still answers, then finishes the reviews in progress.
func TestStoppingFailsNoReview(t *testing.T) {
	release := make(chan struct{})
	s, url, c, arrived := listening(t, release, 2*time.Second)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	eventually(t, "the server answers", func() bool { return get(c, url+"/fast") == nil })

	slow := make(chan error, 1)
	go func() { slow <- get(c, url+"/slow") }()
	<-arrived
	stop()
	eventually(t, "it is not ready", func() bool { return s.draining.Load() })
	if err := s.Ready(httptest.NewRequest(http.MethodGet, "/readyz", nil)); err == nil {
		t.Error("ready while it stops")
	}
	if err := get(c, url+"/fast"); err != nil {
		t.Errorf("a review that comes while the API server still knows the replica: %v", err)
	}
	eventually(t, "it listens no more", func() bool { return get(c, url+"/fast") != nil })
	close(release)
	if err := <-slow; err != nil {
		t.Errorf("the review in flight: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// added records what a manager is to run.
type added struct {
	manager.Manager
	runnables []manager.Runnable
	checks    []string
}

func (a *added) Add(r manager.Runnable) error {
	a.runnables = append(a.runnables, r)
	return nil
}

func (a *added) AddHealthzCheck(name string, _ healthz.Checker) error {
	a.checks = append(a.checks, "/healthz/"+name)
	return nil
}

func (a *added) AddReadyzCheck(name string, _ healthz.Checker) error {
	a.checks = append(a.checks, "/readyz/"+name)
	return nil
}

// TestAManagerStopsTheServerEarly: a manager stops webhook servers last. What it stops first has the server drain.
func TestAManagerStopsTheServerEarly(t *testing.T) {
	s, m := &Server{}, &added{}
	if err := s.AddTo(m); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/healthz/webhooks", "/readyz/webhooks"}; !slices.Equal(m.checks, want) {
		t.Errorf("checks %v, want %v", m.checks, want)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	served, enforces := false, false
	for _, r := range m.runnables {
		switch r := r.(type) {
		case *Server:
			served = true
		case *enforcement:
			enforces = true
		default:
			if _, last := r.(webhook.Server); last {
				t.Errorf("%T is stopped last", r)
			}
			if err := r.Start(stopped); err != nil {
				t.Error(err)
			}
		}
	}
	if !served || !enforces || !s.draining.Load() {
		t.Errorf("serves: %t, enforces: %t, drains: %t", served, enforces, s.draining.Load())
	}
}

// The server renews its certificate from its start to its end. It does not wait for what a manager waits for before it starts anything else.
func TestTheServerKeepsItsCertificate(t *testing.T) {
	s, url, c, _ := listening(t, nil, time.Second)
	began, ended := make(chan struct{}), make(chan struct{})
	s.options.KeepCertificate = func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		close(ended)
		return errors.New("kept")
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	<-began
	eventually(t, "the server answers", func() bool { return get(c, url+"/fast") == nil })
	stop()
	if err := get(c, url+"/fast"); err != nil {
		t.Errorf("a review while the server drains: %v", err)
	}
	select {
	case <-ended:
		t.Error("the certificate is not kept while the server drains")
	default:
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "kept") {
		t.Errorf("the server ended with %v", err)
	}
}

// The server needs a certificate: without one the process ends.
func TestTheServerEndsWithItsCertificate(t *testing.T) {
	s, _, _, _ := listening(t, nil, 0)
	s.options.KeepCertificate = func(context.Context) error { return errors.New("no folder") }
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no folder") {
		t.Errorf("the server ended with %v", err)
	}
}

// A body for a path that the server does not have must arrive, too, before the connection ends: Go's server reads it.
func TestAnUnknownPathHasADeadline(t *testing.T) {
	t.Parallel()
	s, url, c, _ := listening(t, nil, 0)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	eventually(t, "the server answers", func() bool { return get(c, url+"/fast") == nil })
	trusted := c.Transport.(*http.Transport).TLSClientConfig
	connection, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), trusted)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(4 * bodyDeadline))
	_, _ = io.WriteString(connection, "POST /unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
	if answer, err := io.ReadAll(connection); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404") {
		t.Fatalf("%v: %q", err, answer)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// The server has the TLS settings that it is given, and its limits for headers and connections.
func TestTheServerLimitsItsClients(t *testing.T) {
	s, url, c, _ := listening(t, nil, 0)
	s.options.TLS = connections.TLS{MinVersion: tls.VersionTLS13}.Apply
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	eventually(t, "the server answers", func() bool { return get(c, url+"/fast") == nil })

	with := c.Transport.(*http.Transport).TLSClientConfig.Clone()
	with.MaxVersion = tls.VersionTLS12
	address := strings.TrimPrefix(url, "https://")
	if old, err := tls.Dial("tcp", address, with); err == nil {
		_ = old.Close()
		t.Error("a connection with TLS 1.2")
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/fast", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Long", strings.Repeat("x", 2*mostHeaders))
	if answer, err := c.Do(r); err != nil || answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge || answer.Body.Close() != nil {
		t.Errorf("long headers: %v, %v", answer, err)
	}

	var open []net.Conn
	for range mostConnections {
		one, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, one)
	}
	if err := get(c, url+"/fast"); err == nil {
		t.Errorf("a client has more than %d connections", mostConnections)
	}
	for _, one := range open {
		_ = one.Close()
	}
	eventually(t, "the client has connections again", func() bool { return get(c, url+"/fast") == nil })
	stop()
	if err := <-done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// A manager stops webhook servers last, after its caches: that is too late to become unready.
func TestTheEndIsSeenBeforeTheServerIsStopped(t *testing.T) {
	var d any = drain{}
	if _, is := d.(webhook.Server); is {
		t.Error("the manager takes drain for a webhook server")
	}
	if e, is := d.(manager.LeaderElectionRunnable); !is || e.NeedLeaderElection() {
		t.Error("the manager runs drain on the leader alone")
	}
	var s any = &Server{}
	if _, is := s.(webhook.Server); !is {
		t.Error("the manager does not take the server for a webhook server")
	}
}

func TestNotReadyWithoutACertificate(t *testing.T) {
	s, _, _, _ := listening(t, nil, 0)
	s.options.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New("none yet") }
	if err := s.Ready(httptest.NewRequest(http.MethodGet, "/readyz", nil)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("want not ready for want of a certificate, got %v", err)
	}
}

// The routes answer over TLS and HTTP/2, as the API server calls them.
func TestRoutesOverTLS(t *testing.T) {
	h, _ := serve(t, All(platforms.List()...), &world{live: map[string]string{mapiA: underMachineAPI}})
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	body := review(capiMachines + `,"operation":"CREATE","object":{"metadata":{"name":"a"}}`)
	r, err := s.Client().Post(s.URL+"/validate/cluster-api", "application/json", bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.ProtoMajor != 2 || !strings.Contains(string(text), "[authority/create-clusterapi]") {
		t.Errorf("HTTP/%d, %v: %s", r.ProtoMajor, err, text)
	}
}
