// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/poundlock/poundlock/internal/connections"
	"github.com/poundlock/poundlock/internal/fair"
)

// Limits for what comes before a review, because anyone who reaches the port may connect. They are those of the manager's webhooks.
const (
	// mostHeaders is the limit for the headers of a request, in bytes. An API server sends a few hundred.
	mostHeaders     = 16 << 10
	headersDeadline = 5 * time.Second
	// mostConnections is the limit for the connections of one client.
	mostConnections = 512
	// idleDeadline is how long a connection without a request stays open. An API server closes it after 90 s, and must be the one that does: a review that it
	// sends while this side closes the connection is lost, and is not sent again.
	idleDeadline = 2 * time.Minute
)

// Certificates returns the serving certificate. certs.Source implements it.
type Certificates interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Ready returns nil if there is a certificate.
	Ready(*http.Request) error
}

// Serve answers reviews at `/convert` of the listener named reviews, with a certificate from certificates. At the listener named health it serves `/healthz`,
// `/readyz` and the paths of the handler others. When ctx is done, the shim ceases to be ready, serves for Options.Delay more, lets requests finish within the
// time grace, and returns nil.
func (s *Shim) Serve(ctx context.Context, reviews, health net.Listener, certificates Certificates, others http.Handler, grace time.Duration) error {
	mux := http.NewServeMux()
	mux.Handle("/convert", s)
	config := &tls.Config{GetCertificate: certificates.GetCertificate} //nolint:gosec // the next line
	main := &http.Server{
		// The limits for reading and writing are for other paths, too: of a body that no handler reads, Go's server reads the rest.
		Handler: mux, TLSConfig: config, MaxHeaderBytes: mostHeaders, ReadHeaderTimeout: headersDeadline, ReadTimeout: s.o.Attempt,
		WriteTimeout: s.o.Budget + s.o.Attempt, IdleTimeout: idleDeadline,
	}
	connections.TLS{}.Apply(main.TLSConfig)
	probes := http.NewServeMux()
	probes.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	probes.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) { s.ready(w, certificates.Ready(r)) })
	if others != nil {
		probes.Handle("/", others)
	}
	side := fair.Endpoint(probes)
	ended := make(chan error, 2)
	go func() { ended <- main.ServeTLS(fair.New(reviews, mostConnections), "", "") }()
	go func() { ended <- side.Serve(fair.New(health, fair.EndpointConnections)) }()
	looking, stop := context.WithCancel(ctx)
	defer stop()
	for _, c := range s.converters {
		go s.look(looking, upstream{c, s.client})
	}
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	s.draining.Store(true)
	if err == nil {
		select {
		case err = <-ended:
		case <-time.After(s.o.Delay):
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if errors.Is(main.Shutdown(last), context.DeadlineExceeded) {
		s.o.Log.Warn("The shim stopped before it had answered all reviews, because their time to finish was over")
	}
	return errors.Join(err, main.Close(), side.Close())
}

// reachable calls upstream.reachable with the timeout of one attempt. An upstream that accepts connections and answers nothing must not stop the loop in look.
func (s *Shim) reachable(ctx context.Context, u upstream) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Attempt)
	defer cancel()
	return u.reachable(ctx)
}

// look tries to reach an upstream until any upstream has answered.
func (s *Shim) look(ctx context.Context, u upstream) {
	for backoff := s.o.backoff(); !s.reached.Load(); {
		err := s.reachable(ctx, u)
		if err == nil {
			s.reached.Store(true)
			return
		}
		s.o.Log.Debug("A converter (--upstream) does not answer yet", "upstream", u.URL, "error", err)
		if !paused(ctx, backoff.Step()) {
			return
		}
	}
}

// ready answers whether the shim is ready: it has a certificate, is not draining, and at least one upstream has answered since the start. If an upstream is
// lost later, the replica stays ready. Otherwise all replicas would become unready, so the Service would have no endpoints. The API server would then report
// that, and not which converter is missing, as a Failed review does.
func (s *Shim) ready(w http.ResponseWriter, certificate error) {
	switch {
	case certificate != nil:
		http.Error(w, certificate.Error(), http.StatusServiceUnavailable)
	case s.draining.Load():
		http.Error(w, "draining", http.StatusServiceUnavailable)
	case !s.reached.Load():
		http.Error(w, "no converter (--upstream) has answered yet", http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, "ok")
	}
}
