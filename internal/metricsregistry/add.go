// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package metricsregistry

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges has whatever was added: of counters, Clear makes nothing.
var gauges sync.Map

// Clear sets every gauge that was added to its value for when nothing runs.
func Clear() {
	gauges.Range(func(g, _ any) bool {
		switch g := g.(type) {
		case *prometheus.GaugeVec:
			g.Reset()
		case prometheus.Gauge:
			g.Set(0)
		}
		return true
	})
}

// Add registers a collector and returns it, or the one of the same name that is there already.
func Add[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	err := r.Register(c)
	var again prometheus.AlreadyRegisteredError
	if errors.As(err, &again) {
		if existing, ok := again.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	if err == nil {
		gauges.Store(any(c), nil)
	}
	return c, err
}
