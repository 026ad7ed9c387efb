// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

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

// endpointsOf returns where the settings ask for probes and metrics. If they ask for metrics over TLS, the server answers only clients that the API server
// authenticates and allows to get /metrics. It uses the webhooks' certificate. Without webhooks it uses a certificate that the process signs for itself.
func endpointsOf(s settings, live *connections.Live, certificate *lateCertificate) endpoints {
	out := endpoints{health: s.healthAddress, metrics: s.metricsAddress}
	if s.metricsSecure {
		out.tls = func(t *tls.Config) {
			if s.webhooks {
				t.GetCertificate = certificate.get
			}
			live.Apply(t)
		}
	}
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
