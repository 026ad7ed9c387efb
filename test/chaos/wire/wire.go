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

// Wire is a proxy between one client and the API server. Use Stretch. Its methods may be called from several goroutines.
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
	// Code is the server's answer, whether or not the client received it; 0 if there was none.
	Code int
}

// Stretch opens a wire for the client that as configures, by a client certificate. certFile and keyFile are a serving certificate for 127.0.0.1 that as.CAData
// vouches for.
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

// admits lets in who has a certificate of the authority's.
func admits(ca []byte) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
}

// forward passes requests on. A server that cannot be reached looks to the client as if it had been asked directly: the connection breaks.
func forward(to *url.URL, transport http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1, // a watch's news must not wait for more of it
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      log.New(io.Discard, "", 0),
	}
}

// Config is how the client reaches the API server through the wire.
func (w *Wire) Config() *rest.Config { return rest.CopyConfig(w.config) }

// Close ends the wire and every request on it.
func (w *Wire) Close() error {
	w.gate.lift()
	return w.server.Close()
}

// Pause holds up everything, the news of open watches included, until Resume.
func (w *Wire) Pause() { w.gate.shut() }

// Resume lets go what Pause held up.
func (w *Wire) Resume() { w.gate.lift() }

// Writes lists the writes that reached the server, in order.
func (w *Wire) Writes() []Written {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.written)
}

type key struct{}

// asked is what the request is, as the wire read it.
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

// way is how a request goes to the server where no rule applies.
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

// journal writes a write down before it is forwarded, and its answer after.
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
