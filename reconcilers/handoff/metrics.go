// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/internal/conditionlist"
	"github.com/poundlock/poundlock/internal/conditionmetric"
	"github.com/poundlock/poundlock/internal/metricsregistry"
	"github.com/poundlock/poundlock/policies/authority"
)

// meters count moves, measure how long they wait, and show what they wait for.
type meters struct {
	moves *prometheus.CounterVec
	waits *prometheus.HistogramVec
	since *conditionmetric.Gauge
}

func newMeters() (meters, error) {
	m := meters{
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_handoffs_total", Help: "Moves of authority, by kind, direction and outcome (started, completed, cancelled).",
		}, []string{"kind", "from", "to", "outcome"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "poundlock_handoff_wait_seconds", Help: "How long the condition AuthoritySettled had a reason before it changed to another one, by kind and " +
				"reason.",
			Buckets: []float64{1, 2, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400},
		}, []string{"kind", "reason"}),
	}
	var err error
	if m.moves, err = metricsregistry.Add(metrics.Registry, m.moves); err != nil {
		return m, err
	}
	if m.waits, err = metricsregistry.Add(metrics.Registry, m.waits); err != nil {
		return m, err
	}
	m.since, err = conditionmetric.New(metrics.Registry, "poundlock_handoff_waiting_since_timestamp_seconds",
		"Since when the condition AuthoritySettled of an object is False for its present reason, in Unix time. The reason is what the object's move waits "+
			"for, or the present step of the move.",
		authority.ConditionSettled)
	return m, err
}

func (m meters) count(p *pair, step authority.Step) {
	s := p.state()
	from, outcome := s.Origin, "completed"
	if step.Action == authority.Acknowledge {
		from, outcome = s.Current, "started"
	}
	if step.Cancelled {
		outcome = "cancelled"
	}
	m.moves.WithLabelValues(p.kind.Name, string(from), string(from.Other()), outcome).Inc()
}

// waited measures how long the condition had its former reason.
func (m meters) waited(kind string, before map[string]any, now time.Time) {
	since, err := time.Parse(time.RFC3339, conditionlist.Text(before, "lastTransitionTime"))
	if err != nil || conditionlist.Text(before, "status") != "False" {
		return
	}
	m.waits.WithLabelValues(kind, conditionlist.Text(before, "reason")).Observe(now.Sub(since).Seconds())
}
