// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts what a source does, and has the times at which its certificates expire. It is a prometheus.Collector, to be registered with the others.
type Metrics struct {
	expiry    *prometheus.GaugeVec
	rotations *prometheus.CounterVec
	errors    *prometheus.CounterVec
	ready     prometheus.Gauge
}

// The values of the label "certificate", and of the label "reason" of the errors.
const (
	certificateServing = "serving"
	certificateCA      = "ca"

	reasonReload = "reload" // a file could not be loaded
	reasonSecret = "secret" // the Secret is damaged, foreign, or cannot be read or written
	reasonInject = "inject" // a caBundle cannot be read or written
)

// NewMetrics returns the metrics of one source.
func NewMetrics() *Metrics {
	m := &Metrics{
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "poundlock_certificate_expiry_timestamp_seconds",
			Help: "Unix time at which a certificate of this replica expires, by certificate: serving (presented to clients) or ca (signs the serving " +
				"certificate).",
		}, []string{"certificate"}),
		rotations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_certificate_rotations_total",
			Help: "Rotations by this replica, by certificate: serving (began to use another serving certificate) or ca (created a new CA).",
		}, []string{"certificate"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_certificate_errors_total",
			Help: "Problems with certificates, by reason: reload (mounted files are invalid), secret (the Secret is damaged, belongs to another owner " +
				"or is unreachable), inject (a caBundle could not be written).",
		}, []string{"reason"}),
		ready: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "poundlock_certificate_ready",
			Help: "1 while this replica serves a valid certificate that the API server trusts, else 0.",
		}),
	}
	for _, reason := range []string{reasonReload, reasonSecret, reasonInject} {
		m.errors.WithLabelValues(reason)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(descriptions)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(metrics)
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.expiry, m.rotations, m.errors, m.ready}
}

func (m *Metrics) expires(certificate string, cert *x509.Certificate) {
	m.expiry.WithLabelValues(certificate).Set(float64(cert.NotAfter.Unix()))
}

func (m *Metrics) rotated(certificate string) { m.rotations.WithLabelValues(certificate).Inc() }

func (m *Metrics) failed(reason string) { m.errors.WithLabelValues(reason).Inc() }

func (m *Metrics) setReady(ready bool) {
	if ready {
		m.ready.Set(1)
	} else {
		m.ready.Set(0)
	}
}
