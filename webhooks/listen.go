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
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/poundlock/poundlock/internal/fair"
)

// Limits of the server for what comes before a review (guard). controller-runtime's server accepts 1 MiB of headers on any number of connections and has no
// settings for that, so Poundlock runs an HTTP server of its own for its routes.
const (
	// mostHeaders is the limit for the headers of a request, in bytes. An API server sends a few hundred.
	mostHeaders = 16 << 10
	// mostConnections is the limit for the connections of one client. An API server has one for each review that it waits for.
	mostConnections = 512
	// idleDeadline is how long a connection without a request stays open. An API server closes it after 90 s, and must be the one that does: a review that it
	// sends while this side closes the connection is lost, and is not sent again.
	idleDeadline = 2 * time.Minute
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
		return fmt.Errorf("--webhook-bind-address: %w. Stop the process that uses the address, or give another address", err)
	}
	server := limited(s.WebhookMux()) // its reviews do not end with ctx: those that have come are answered
	s.options.Log.Info("Serving webhooks", "address", address)
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownDeadline)
		defer cancel()
		ended <- server.Shutdown(last)
	}()
	s.listening.Store(true)
	if err := server.Serve(tls.NewListener(fair.New(listener, mostConnections), config)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving webhooks: %w", err)
	}
	if err := <-ended; err != nil {
		s.options.Log.Error(err, "webhook server did not end in time")
	}
	return nil
}

// limited returns an HTTP server with the limits above.
func limited(h http.Handler) *http.Server {
	// The limits for reading and writing are for paths without a guard, too: of a body that no handler reads, Go's server reads the rest.
	return &http.Server{Handler: h, MaxHeaderBytes: mostHeaders, ReadHeaderTimeout: bodyDeadline, ReadTimeout: bodyDeadline, WriteTimeout: answerDeadline,
		IdleTimeout: idleDeadline}
}
