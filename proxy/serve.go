// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/poundlock/poundlock/internal/fair"
)

// Serve serves the client's requests on the listener clients. On the listener health it serves `/healthz` and `/readyz`, and passes other paths to the handler
// others. When ctx is done, it ends watches, waits for other requests for the time grace, and returns nil.
func (p *Proxy) Serve(ctx context.Context, clients, health net.Listener, others http.Handler, grace time.Duration) error {
	main := &http.Server{Handler: p, ReadHeaderTimeout: 30 * time.Second}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", p.ready)
	if others != nil {
		mux.Handle("/", others)
	}
	side := fair.Endpoint(mux)
	ended := make(chan error, 2)
	go func() { ended <- main.Serve(clients) }()
	go func() { ended <- side.Serve(fair.New(health, fair.EndpointConnections)) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	p.drain()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if errors.Is(main.Shutdown(last), context.DeadlineExceeded) {
		p.log.Warn("Some requests were not answered within --grace-period, and are cut off")
	}
	return errors.Join(err, main.Close(), side.Close())
}

// ready answers whether the proxy serves requests. The answer stays positive if the API server cannot be reached, because restarting the client would not help.
func (p *Proxy) ready(w http.ResponseWriter, _ *http.Request) {
	if p.drained.Err() != nil {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
