// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// Wire is a proxy between one client and the API server. Stretch opens one. Its methods may be called from several goroutines.
type Wire struct {
	server *http.Server
	config *rest.Config
	reader *apirequest.RequestInfoFactory
	memory memory
	gate   gate
	lag    atomic.Int64 // a time.Duration

	mu      sync.Mutex
	rules   []*Rule
	written []Written
	watches map[*context.CancelFunc]context.CancelFunc
}

// Written is a write that reached the server.
type Written struct {
	Request
	// Code is the status code of the server's answer, whether or not the client received it; 0 if there was no answer.
	Code int
}

// Stretch opens a wire for the client of the configuration `as`, which has a client certificate. certFile and keyFile are a serving certificate for 127.0.0.1
// that the authority in as.CAData has signed.
func Stretch(as *rest.Config, certFile, keyFile string) (*Wire, error) {
	if len(as.CertData) == 0 {
		return nil, errors.New("stretching a wire: the client has no certificate that could be handed on")
	}
	transport, err := rest.TransportFor(as)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	to, err := url.Parse(as.Host)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{reader: reader(), memory: memory{last: map[string]*answer{}}, watches: map[*context.CancelFunc]context.CancelFunc{}}
	w.config = rest.CopyConfig(as)
	w.config.Host = "https://" + listener.Addr().String()
	w.server = &http.Server{Handler: w.handler(forward(to, transport)), TLSConfig: admits(as.CAData), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = w.server.ServeTLS(listener, certFile, keyFile) }()
	return w, nil
}

// admits returns a TLS configuration that only lets in clients with a certificate of the authority.
func admits(ca []byte) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
}

// forward returns a handler that passes requests on to the server. If the server cannot be reached, the client's connection breaks, as it would without the
// wire.
func forward(to *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1, // each event of a watch is passed on at once
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      log.New(io.Discard, "", 0),
	}
}

// Config returns the configuration with which the client reaches the API server through the wire.
func (w *Wire) Config() *rest.Config { return rest.CopyConfig(w.config) }

// Close ends the wire and every request on it.
func (w *Wire) Close() error {
	w.gate.lift()
	return w.server.Close()
}

// Pause holds everything until Resume, also the events of open watches.
func (w *Wire) Pause() { w.gate.shut() }

// Resume releases what Pause held.
func (w *Wire) Resume() { w.gate.lift() }

// Writes lists the writes that reached the server, in order.
func (w *Wire) Writes() []Written {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.written)
}

type key struct{}

// asked returns what the wire read of the request.
func asked(r *http.Request) Request {
	what, _ := r.Context().Value(key{}).(Request)
	return what
}

func (w *Wire) handler(server http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		what, err := w.read(r)
		if err != nil || w.gate.wait(r.Context()) != nil {
			panic(http.ErrAbortHandler)
		}
		r = r.WithContext(context.WithValue(r.Context(), key{}, what))
		w.bent(what, w.way(what, server)).ServeHTTP(rw, r)
	})
}

// way returns the handler that sends a request to the server if no rule applies.
func (w *Wire) way(what Request, server http.Handler) http.Handler {
	switch {
	case Watches(what):
		return w.watch(server)
	case Reads(what):
		return w.memory.of(server)
	case what.Stores():
		return w.journal(server)
	}
	return server
}

// journal records a write before it is forwarded, and its answer after that.
func (w *Wire) journal(server http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		n := len(w.written)
		w.written = append(w.written, Written{Request: asked(r)})
		w.mu.Unlock()
		a := &answer{header: http.Header{}}
		server.ServeHTTP(a, r)
		w.mu.Lock()
		w.written[n].Code = a.code
		w.mu.Unlock()
		a.send(rw)
	})
}
