// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/poundlock/poundlock/translation"
)

// metrics are the metrics of the proxy. private-capi-types › Metrics fixes their names.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	overhead *prometheus.HistogramVec
	errors   *prometheus.CounterVec

	mu   sync.Mutex
	seen map[string]bool
}

// resources is how many values the label "resource" may have. The limit is needed because a client may ask for anything.
const resources = 200

// The values of the label "error_type".
const (
	invalidJSON         = "invalid-json"
	unsupportedResource = "unsupported-resource"
)

func newMetrics() *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hypershift_api_proxy_requests_total",
			Help: "Requests that the API proxy has answered, by method, resource and HTTP status code.",
		}, []string{"method", "resource", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hypershift_api_proxy_request_duration_seconds",
			Help: "Duration of requests through the API proxy, from the first byte of the request to the last byte of the answer. Watches, logs " +
				"and upgraded connections (such as exec) are left out.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1},
		}, []string{"method", "resource"}),
		overhead: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hypershift_api_proxy_overhead_seconds",
			Help: "Time of a request that the API proxy itself used, without the time in which it waited for the API server or the client. " +
				"The translation of a body of more than 256 KiB is left out, because it takes place while the body is sent.",
			Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .05, .1},
		}, []string{"method"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hypershift_api_proxy_translation_errors_total",
			Help: "Bodies that the API proxy could not translate, by error_type: invalid-json (malformed or truncated) or unsupported-resource (a " +
				"media type that the proxy does not translate).",
		}, []string{"error_type"}),
		seen: map[string]bool{},
	}
	for _, t := range []string{invalidJSON, unsupportedResource} {
		m.errors.WithLabelValues(t)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(descriptions chan<- *prometheus.Desc) {
	m.requests.Describe(descriptions)
	m.duration.Describe(descriptions)
	m.overhead.Describe(descriptions)
	m.errors.Describe(descriptions)
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(values chan<- prometheus.Metric) {
	m.requests.Collect(values)
	m.duration.Collect(values)
	m.overhead.Collect(values)
	m.errors.Collect(values)
}

// resource returns the value of the label "resource" for a request.
func (m *metrics) resource(e *exchange) string {
	name := e.Resource
	if name == "" {
		name = "none"
	}
	if len(name) > validation.DNS1035LabelMaxLength {
		return "other"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.seen[name]:
	case len(m.seen) == resources:
		return "other"
	default:
		m.seen[name] = true
	}
	return name
}

func (m *metrics) answered(method string, e *exchange, code int, took time.Duration) {
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, method) {
		method = "other"
	}
	m.requests.WithLabelValues(method, e.resource, strconv.Itoa(code)).Inc()
	if e.watch || e.upgrade != "" || e.Opaque && e.Subresource != "" {
		return // takes as long as the client wants
	}
	m.duration.WithLabelValues(method, e.resource).Observe(took.Seconds())
	m.overhead.WithLabelValues(method).Observe(max(0, took-time.Duration(e.waited.Load())).Seconds())
}

// untranslated counts an error about a body that could not be translated, and returns the value of the label "error_type" for it.
func (m *metrics) untranslated(err error) string {
	kind := unsupportedResource
	if translation.Malformed(err) {
		kind = invalidJSON
	}
	m.errors.WithLabelValues(kind).Inc()
	return kind
}
