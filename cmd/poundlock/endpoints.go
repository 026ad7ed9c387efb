// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

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

// Limits for the metrics, beside those of every endpoint. An answer has a line for each object that waits or fails: 2 MiB for 10,000 of them, which stay in
// memory until the client has taken them.
const (
	// scrapers is the limit for the connections of one client. A Prometheus has one or two.
	scrapers = 16
	// scrapes is the limit for the answers that are made at the same time. Further ones get the status 503.
	scrapes = 48
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

// newManager returns a manager that serves its probes and metrics at the endpoints. It listens from now on, and answers once the manager has started.
func newManager(cfg *rest.Config, o ctrl.Options, e endpoints) (manager.Manager, error) {
	// First, because an address that is taken needs no API server to be found.
	health, unhealthy := listen("health-bind-address", e.health, fair.EndpointConnections)
	measured, unmeasured := listen("metrics-bind-address", e.metrics, scrapers)
	profiles, unprofiled := listen("profiler-address", o.PprofBindAddress, 1)
	if err := errors.Join(unhealthy, unmeasured, unprofiled); err != nil {
		return nil, err
	}
	if profiles != nil {
		_ = profiles.Close() // controller-runtime serves them, and its message would name no flag
	}
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
	return p, errors.Join(p.serve("health probe", health, probes), p.serveMetrics(cfg, measured, e.tls))
}

// listen returns a listener, each of whose clients may have so many connections; nil for none.
func listen(flag, address string, connections int) (net.Listener, error) {
	if address == "" || address == "0" {
		return nil, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w. Stop the process that uses the address, or give another address", flag, err)
	}
	return fair.New(l, connections), nil
}

func (p *probed) serveMetrics(cfg *rest.Config, l net.Listener, secure func(*tls.Config)) error {
	handler := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: scrapes})
	if l != nil && secure != nil {
		filter, err := filters.WithAuthenticationAndAuthorization(cfg, p.GetHTTPClient())
		if err == nil {
			handler, err = filter(p.GetLogger().WithName("metrics"), handler)
		}
		if err != nil {
			return fmt.Errorf("limiting who may get the metrics: %w", err)
		}
		config := &tls.Config{} //nolint:gosec // the next line
		secure(config)
		if err := signed(config); err != nil {
			return err
		}
		l = tls.NewListener(l, config)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	return p.serve("metrics", l, mux)
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

// serve adds a server to the manager, unless there is no listener.
func (p *probed) serve(name string, l net.Listener, handler http.Handler) error {
	if l == nil {
		return nil
	}
	end := fair.EndpointDeadline
	return p.Add(&manager.Server{Name: name, Listener: l, ShutdownTimeout: &end, Server: fair.Endpoint(handler)})
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
