// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/validation"
)

// metrics have the names that the document specifies (private-capi-types › Metrics).
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec

	mu   sync.Mutex
	seen map[labels]bool
}

// labels are the label values of a review.
type labels struct{ from, to, resource string }

// most is the maximum number of label combinations. It is limited because a client may request anything.
const most = 500

var unknown = labels{"unknown", "unknown", "unknown"}

// The values of the label "error_type".
const (
	unavailable       = "upstream-webhook-unavailable"
	translationFailed = "translation-failed"
	upstreamFailed    = "upstream-failed"
	notConfigured     = "upstream-not-configured"
	uidMismatch       = "upstream-uid-mismatch"
	invalidRequest    = "invalid-request"
	overloaded        = "overloaded"
)

func newMetrics() *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hypershift_conversion_webhook_requests_total",
			Help: "Conversion requests that the shim answered, by version, resource and result. A request that is not a conversion request has the label " +
				"values unknown.",
		}, []string{"from_version", "to_version", "resource", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "hypershift_conversion_webhook_duration_seconds",
			Help:    "How long conversions took, including the time of the upstream converter.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5},
		}, []string{"from_version", "to_version", "resource"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hypershift_conversion_webhook_errors_total",
			Help: "Conversion requests that failed, by the type of the error: at most one error for each request.",
		}, []string{"error_type"}),
		seen: map[labels]bool{},
	}
	for _, t := range []string{unavailable, translationFailed, upstreamFailed, notConfigured, uidMismatch, invalidRequest, overloaded} {
		m.errors.WithLabelValues(t)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(descriptions chan<- *prometheus.Desc) {
	m.requests.Describe(descriptions)
	m.duration.Describe(descriptions)
	m.errors.Describe(descriptions)
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(values chan<- prometheus.Metric) {
	m.requests.Collect(values)
	m.duration.Collect(values)
	m.errors.Collect(values)
}

// bounded returns the labels to use for l. It limits the number of series and the length of labels: it returns the labels "other" for new combinations beyond
// most, and for long labels.
func (m *metrics) bounded(l labels) labels {
	for _, value := range []string{l.from, l.to, l.resource} {
		if len(value) > validation.DNS1035LabelMaxLength {
			return labels{"other", "other", "other"}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.seen[l] {
		if len(m.seen) == most {
			return labels{"other", "other", "other"}
		}
		m.seen[l] = true
	}
	return l
}

// labels returns the labels of a conversion between private versions.
func (c *conversion) labels() labels {
	if len(c.was) == 0 {
		return labels{"none", c.desired.Version, "none"}
	}
	l := labels{c.was[0].version().Version, c.desired.Version, strings.ToLower(c.was[0].Kind)}
	for _, o := range c.was {
		if o.version().Version != l.from {
			l.from = "mixed"
		}
		if strings.ToLower(o.Kind) != l.resource {
			l.resource = "mixed"
		}
	}
	return l
}

// answered counts a request and observes its duration.
func (m *metrics) answered(l labels, p *problem, took time.Duration) {
	l = m.bounded(l)
	result := "success"
	if p != nil {
		result = "failure"
		m.errors.WithLabelValues(p.errorType).Inc()
	}
	m.requests.WithLabelValues(l.from, l.to, l.resource, result).Inc()
	m.duration.WithLabelValues(l.from, l.to, l.resource).Observe(took.Seconds())
}
