// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// meters count what is carried over.
type meters struct{ remediations *prometheus.CounterVec }

func newMeters() (meters, error) {
	m := meters{remediations: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "poundlock_remediations_total", Help: "Machines of the Machine API that Poundlock deleted for a health check of Cluster API's, by what was amiss.",
	}, []string{"cause"})}
	err := metrics.Registry.Register(m.remediations)
	if was := new(prometheus.AlreadyRegisteredError); errors.As(err, was) {
		m.remediations = was.ExistingCollector.(*prometheus.CounterVec)
		err = nil
	}
	return m, err
}
