// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/internal/metricsregistry"
	"github.com/poundlock/poundlock/policies/controlplane"
)

// meters show the state of a control plane, and count the Machines that are created and deleted.
type meters struct {
	machines *prometheus.GaugeVec
	degraded prometheus.Gauge
	changes  *prometheus.CounterVec
}

func newMeters() (meters, error) {
	m := meters{
		machines: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "poundlock_control_plane_machines", Help: "Number of the ControlPlaneMachineSet's Machines, by state: wanted (spec.replicas), present, ready, " +
				"outdated.",
		}, []string{"state"}),
		degraded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "poundlock_control_plane_degraded", Help: "1 while an active ControlPlaneMachineSet has stopped because of a problem.",
		}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_control_plane_changes_total", Help: "Machines that the ControlPlaneMachineSet created or deleted, by verb and cause.",
		}, []string{"verb", "cause"}),
	}
	var errs [3]error
	m.machines, errs[0] = metricsregistry.Add(metrics.Registry, m.machines)
	m.degraded, errs[1] = metricsregistry.Add(metrics.Registry, m.degraded)
	m.changes, errs[2] = metricsregistry.Add(metrics.Registry, m.changes)
	return m, errors.Join(errs[:]...)
}

// show shows the numbers of a plan. Without a set (nil), it removes them.
func (m meters) show(p *controlplane.Plan) {
	if p == nil {
		m.machines.Reset()
		m.degraded.Set(0)
		return
	}
	n := p.Numbers()
	for state, count := range map[string]int{"wanted": p.Replicas, "present": n.Replicas, "ready": n.Ready, "outdated": len(p.Outdated())} {
		m.machines.WithLabelValues(state).Set(float64(count))
	}
	m.degraded.Set(0)
	if p.Active && len(p.Problems) > 0 {
		m.degraded.Set(1)
	}
}

func (m meters) count(step controlplane.PlannedStep) {
	m.changes.WithLabelValues(string(step.Verb), string(step.Cause)).Inc()
}
