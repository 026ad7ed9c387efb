// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/poundlock/poundlock/internal/build"
	"github.com/poundlock/poundlock/internal/connections"
	"github.com/poundlock/poundlock/internal/metricsregistry"
)

// lateCertificate is a server's certificate whose source is made after the server.
type lateCertificate struct {
	source atomic.Pointer[func(*tls.ClientHelloInfo) (*tls.Certificate, error)]
}

func (l *lateCertificate) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if source := l.source.Load(); source != nil {
		return (*source)(hello)
	}
	return nil, errors.New("the serving certificate of the metrics is not loaded yet")
}

// metricsOptions returns the options of the metrics server. If the settings ask for TLS, the server answers only clients that the API server authenticates and
// allows to get /metrics. The server uses the webhooks' certificate. Without webhooks it uses a certificate that the process signs for itself.
func metricsOptions(s settings, live *connections.Live, certificate *lateCertificate) metricsserver.Options {
	out := metricsserver.Options{BindAddress: s.metricsAddress}
	if !s.metricsSecure {
		return out
	}
	out.SecureServing, out.FilterProvider = true, filters.WithAuthenticationAndAuthorization
	out.TLSOpts = []func(*tls.Config){func(t *tls.Config) {
		live.Apply(t)
		if s.webhooks {
			t.GetCertificate = certificate.get
		}
	}}
	return out
}

// showBuild registers a metric with the build of this process.
func showBuild() error {
	_, err := metricsregistry.Add(metrics.Registry, build.Read().Metric())
	return err
}

// showRival registers a metric that shows whether Poundlock does nothing because OpenShift's own migration runs.
func showRival(now mode) error {
	g, err := metricsregistry.Add(metrics.Registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "poundlock_standing_still", Help: "1 while Poundlock mirrors and moves nothing because OpenShift's own migration runs, else 0.",
	}))
	if err == nil && now.rival != "" {
		g.Set(1)
	}
	return err
}
