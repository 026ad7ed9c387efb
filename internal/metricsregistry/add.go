// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package metricsregistry

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges has every collector that was added. Clear resets those that are gauges, and no counter.
var gauges sync.Map

// Clear resets every gauge that was added. Call it only after all managers of the process have stopped.
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

// Add registers a collector and returns it. If a collector of the same name is registered already, Add returns that one.
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
