// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/internal/metricsregistry"
	"github.com/poundlock/poundlock/policies/controlplane"
	"github.com/poundlock/poundlock/policies/controlplane/generator"
)

// meters count writes, and show why no set is generated.
type meters struct {
	writes  *prometheus.CounterVec
	refusal *prometheus.GaugeVec

	// reason is the reason that the metric shows now.
	reason controlplane.Reason
}

func newMeters() (meters, error) {
	m := meters{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_control_plane_generator_writes_total", Help: "Writes of the generated ControlPlaneMachineSet, by what was done (Produce, Follow, Remake).",
		}, []string{"deed"}),
		refusal: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "poundlock_control_plane_not_generated",
			Help: "1 for the reason why no ControlPlaneMachineSet can be generated, or why the generated one cannot follow the cluster; no sample if neither " +
				"applies.",
		}, []string{"reason"}),
	}
	var err error
	if m.writes, err = metricsregistry.Add(metrics.Registry, m.writes); err != nil {
		return m, err
	}
	m.refusal, err = metricsregistry.Add(metrics.Registry, m.refusal)
	return m, err
}

// refused shows the reason of a refusal, and removes the former one. nil means that there is no refusal.
func (m *meters) refused(r *generator.Refusal) {
	var reason controlplane.Reason
	if r != nil {
		reason = r.Reason
	}
	if reason == m.reason {
		return
	}
	m.refusal.DeleteLabelValues(string(m.reason))
	if m.reason = reason; r != nil {
		m.refusal.WithLabelValues(string(reason)).Set(1)
	}
}
