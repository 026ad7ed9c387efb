// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/internal/metricsregistry"
)

// meters count the Machines that are deleted for a health check.
type meters struct{ remediations *prometheus.CounterVec }

func newMeters() (meters, error) {
	remediations, err := metricsregistry.Add(metrics.Registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "poundlock_remediations_total", Help: "Machines that Poundlock deleted for a health check of Cluster API, by the problem found.",
	}, []string{"cause"}))
	return meters{remediations}, err
}
