// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/poundlock/poundlock/internal/fair"
)

// Limits for the probes and the metrics. Anyone who reaches the port may connect, and controller-runtime's servers take 1 MiB of headers on any number of
// connections. With 800 of them one client would end the process at its limit of memory.
const (
	// endpointConnections is the limit for the connections of one client. A kubelet and a Prometheus have one or two.
	endpointConnections = 128
	endpointHeaders     = 16 << 10
	// endpointDeadline limits the arrival of a request. scrapeDeadline limits its answer.
	endpointDeadline = 5 * time.Second
	scrapeDeadline   = time.Minute
)

// endpoints are the addresses of the probes and of the metrics; "" or 0 for none.
type endpoints struct {
	health, metrics string
	// tls, if set, has the metrics served over TLS, and only to users who have the right to get /metrics.
	tls func(*tls.Config)
}

// probed is a manager whose probes and metrics have the limits above.
type probed struct {
	manager.Manager
	healthz, readyz *healthz.Handler
}

// newManager returns a manager that serves its probes and metrics at the endpoints.
func newManager(cfg *rest.Config, o ctrl.Options, e endpoints) (manager.Manager, error) {
	o.Metrics, o.HealthProbeBindAddress = metricsserver.Options{BindAddress: "0"}, "0"
	mgr, err := ctrl.NewManager(cfg, o)
	if err != nil {
		return nil, err
	}
	p := &probed{mgr, &healthz.Handler{Checks: map[string]healthz.Checker{}}, &healthz.Handler{Checks: map[string]healthz.Checker{}}}
	probes := http.NewServeMux()
	for path, handler := range map[string]http.Handler{"/healthz": p.healthz, "/readyz": p.readyz} {
		probes.Handle(path, http.StripPrefix(path, handler))
		probes.Handle(path+"/", http.StripPrefix(path, handler))
	}
	return p, errors.Join(p.serve("health probe", e.health, probes, nil), p.serveMetrics(cfg, e))
}

func (p *probed) serveMetrics(cfg *rest.Config, e endpoints) error {
	handler := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	var config *tls.Config
	if e.tls != nil {
		filter, err := filters.WithAuthenticationAndAuthorization(cfg, p.GetHTTPClient())
		if err == nil {
			handler, err = filter(p.GetLogger().WithName("metrics"), handler)
		}
		if err != nil {
			return fmt.Errorf("limiting who may get the metrics: %w", err)
		}
		config = &tls.Config{} //nolint:gosec // the next line
		e.tls(config)
		if err := signed(config); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	return p.serve("metrics", e.metrics, mux, config)
}

// signed gives the config a certificate that the process signs for itself, unless it has one.
func signed(config *tls.Config) error {
	if config.GetCertificate != nil {
		return nil
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{{127, 0, 0, 1}}, nil, "")
	if err != nil {
		return fmt.Errorf("signing a certificate for the metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("signing a certificate for the metrics: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return nil
}

// serve adds a server to the manager. The server listens from now on, and answers once the manager has started.
func (p *probed) serve(name, address string, handler http.Handler, config *tls.Config) error {
	if address == "" || address == "0" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serving the %s: %w", name, err)
	}
	listener = fair.New(listener, endpointConnections)
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	end := endpointDeadline
	return p.Add(&manager.Server{Name: name, Listener: listener, ShutdownTimeout: &end, Server: &http.Server{
		Handler: handler, MaxHeaderBytes: endpointHeaders, ReadHeaderTimeout: endpointDeadline, ReadTimeout: endpointDeadline, WriteTimeout: scrapeDeadline,
		IdleTimeout: 2 * time.Minute,
	}})
}

// AddHealthzCheck adds a check to /healthz. All checks are added before the manager starts.
func (p *probed) AddHealthzCheck(name string, check healthz.Checker) error {
	p.healthz.Checks[name] = check
	return nil
}

// AddReadyzCheck adds a check to /readyz. All checks are added before the manager starts.
func (p *probed) AddReadyzCheck(name string, check healthz.Checker) error {
	p.readyz.Checks[name] = check
	return nil
}
