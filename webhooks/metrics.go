// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/poundlock/poundlock/policies"
)

// metrics are the metrics of the webhooks. Label values come from routes and rules, never from a request.
type metrics struct {
	rules    *prometheus.CounterVec
	reviews  *prometheus.HistogramVec
	gathers  *prometheus.HistogramVec
	lookups  *prometheus.HistogramVec
	doubts   *prometheus.CounterVec
	failures *prometheus.CounterVec
	inFlight prometheus.Gauge
	enforced prometheus.Gauge
	probes   *prometheus.CounterVec
}

// The reasons why a review failed: label values of poundlock_admission_failures_total.
const (
	failureRoom    = "room"
	failureBody    = "body"
	failureRequest = "request"
	failureFacts   = "facts"
	failurePanic   = "panic"
	failureDefault = "default"
)

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	fast := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "poundlock", Subsystem: "admission", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "poundlock", Subsystem: "admission", Name: name, Help: help, Buckets: fast,
		}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "poundlock", Subsystem: "admission", Name: name, Help: help})
	}
	m := &metrics{
		rules:    counter("rule_total", "Verdicts of each rule of admission: denied, warned or silent.", "rule", "verdict", "kind", "operation"),
		reviews:  histogram("review_duration_seconds", "Time from the arrival of an admission review to its answer.", "route", "allowed"),
		gathers:  histogram("gather_duration_seconds", "Time to look up everything that the rules of one admission review need.", "route"),
		lookups:  histogram("lookup_duration_seconds", "Time of one lookup for an admission review, in the cache or at the API server.", "source"),
		doubts:   counter("unchecked_total", "Failed lookups of facts that only decide about a warning.", "route"),
		failures: counter("failures_total", "Admission reviews that no rule could decide, by reason.", "route", "reason"),
		inFlight: gauge("in_flight", "Admission reviews that are being answered now."),
		enforced: gauge("enforced", "1 while Poundlock's webhooks fail closed in every mirrored namespace and the API server reaches them, else 0."),
		probes:   counter("probe_total", "Dry runs that test whether the API server reaches Poundlock's webhooks, by whether the webhooks answered.", "answered"),
	}
	for _, c := range []prometheus.Collector{m.rules, m.reviews, m.gathers, m.lookups, m.doubts, m.failures, m.inFlight, m.enforced, m.probes} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the admission metrics: %w", err)
		}
	}
	return m, nil
}

// judged counts the verdict of every rule.
func (m *metrics) judged(c policies.Change, j policies.Judgement) {
	for _, f := range j {
		m.rules.WithLabelValues(f.Rule, verdict(f.Verdict), c.Kind, string(c.Operation)).Inc()
	}
}

func verdict(v policies.Verdict) string {
	switch {
	case len(v.Denials) > 0:
		return "denied"
	case len(v.Warnings) > 0:
		return "warned"
	}
	return "silent"
}

func (m *metrics) lookup(source string, began time.Time) {
	m.lookups.WithLabelValues(source).Observe(time.Since(began).Seconds())
}
