// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Limits of the server for what comes before a review (guard). controller-runtime's server accepts 1 MiB of headers on any number of connections and has no
// settings for that, so Poundlock runs an HTTP server of its own for its routes.
const (
	// mostHeaders is the limit for the headers of a request, in bytes. An API server sends a few hundred.
	mostHeaders = 16 << 10
	// mostConnections is the limit for the connections of one client. An API server has one for each review that it waits for.
	mostConnections = 512
	// idleDeadline is how long a connection without a request stays open: as long as an API server keeps it.
	idleDeadline = 90 * time.Second
	// shutdownDeadline limits the end of the server, once no further connection is accepted.
	shutdownDeadline = time.Minute
)

// serve answers requests until ctx is done and the requests that have come are answered.
func (s *Server) serve(ctx context.Context) error {
	config := &tls.Config{}
	s.options.TLS(config)
	config.GetCertificate = s.options.GetCertificate
	address := net.JoinHostPort(s.options.Host, strconv.Itoa(cmp.Or(s.options.Port, webhook.DefaultPort)))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serving webhooks: %w", err)
	}
	server := &http.Server{
		Handler: s.WebhookMux(), BaseContext: func(net.Listener) context.Context { return ctx },
		MaxHeaderBytes: mostHeaders, ReadHeaderTimeout: bodyDeadline, IdleTimeout: idleDeadline,
	}
	s.options.Log.Info("Serving webhooks", "address", address)
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownDeadline)
		defer cancel()
		ended <- server.Shutdown(last)
	}()
	s.listening.Store(true)
	if err := server.Serve(tls.NewListener(newFair(listener, mostConnections), config)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving webhooks: %w", err)
	}
	if err := <-ended; err != nil {
		s.options.Log.Error(err, "webhook server did not end in time")
	}
	return nil
}

// fair is a listener that closes a connection at once if its client, by IP address, has too many.
type fair struct {
	net.Listener
	most int

	mu      sync.Mutex
	clients map[string]int
}

func newFair(l net.Listener, most int) *fair {
	return &fair{Listener: l, most: most, clients: map[string]int{}}
}

// Accept returns the next connection of a client that may have one more.
func (f *fair) Accept() (net.Conn, error) {
	for {
		c, err := f.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // http.Server recognizes the listener's errors
		}
		if host := hostOf(c.RemoteAddr().String()); f.admit(host) {
			return &connection{Conn: c, leave: sync.OnceFunc(func() { f.leave(host) })}, nil
		}
		_ = c.Close()
	}
}

func (f *fair) admit(host string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[host] >= f.most {
		return false
	}
	f.clients[host]++
	return true
}

func (f *fair) leave(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients[host]--; f.clients[host] == 0 {
		delete(f.clients, host)
	}
}

// connection counts for its client until it is closed.
type connection struct {
	net.Conn
	leave func()
}

func (h *connection) Close() error {
	h.leave()
	return h.Conn.Close()
}

// hostOf returns the IP address of a client.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
