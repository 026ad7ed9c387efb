// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// meters count what the mirror does.
type meters struct {
	writes   *prometheus.CounterVec
	failures *prometheus.CounterVec
}

func newMeters() (meters, error) {
	m := meters{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_mirror_writes_total", Help: "Writes of the mirror, by kind of pair, verb and result.",
		}, []string{"kind", "verb", "result"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_mirror_failures_total", Help: "Times that a pair was found not to be mirrorable, by kind and reason of the Synchronized condition.",
		}, []string{"kind", "reason"}),
	}
	for _, c := range []prometheus.Collector{m.writes, m.failures} {
		if err := metrics.Registry.Register(c); err != nil && !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
			return meters{}, err
		}
	}
	return m, nil
}

func (m meters) count(kind string, w *write, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.writes.WithLabelValues(kind, string(w.verb), result).Inc()
	if w.failure && err == nil {
		m.failures.WithLabelValues(kind, w.reason).Inc()
	}
}
