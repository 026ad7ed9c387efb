// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/internal/conditionmetric"
	"github.com/poundlock/poundlock/internal/metricsregistry"
	"github.com/poundlock/poundlock/mirroring/pairs"
	"github.com/poundlock/poundlock/policies/authority"
)

// meters count the mirror's writes, and show the pairs that it cannot make equal.
type meters struct {
	since    *conditionmetric.Gauge
	alone    *conditionmetric.Gauge
	writes   *prometheus.CounterVec
	failures *prometheus.CounterVec
}

func newMeters() (meters, error) {
	m := meters{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_mirror_writes_total", Help: "Writes of the mirror, by kind of pair, verb and result.",
		}, []string{"kind", "verb", "result"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_mirror_failures_total", Help: "Times that a pair could not be mirrored, by kind and reason of the Synchronized condition.",
		}, []string{"kind", "reason"}),
	}
	var errs [4]error
	m.writes, errs[0] = metricsregistry.Add(metrics.Registry, m.writes)
	m.failures, errs[1] = metricsregistry.Add(metrics.Registry, m.failures)
	m.since, errs[2] = conditionmetric.New(metrics.Registry, "poundlock_mirror_failing_since_timestamp_seconds",
		"Since when the condition Synchronized of an object is False, in Unix time, by its reason.", authority.ConditionSynchronized)
	m.alone, errs[3] = conditionmetric.New(metrics.Registry, "poundlock_machineset_outlived_since_timestamp_seconds",
		"Since when a MachineSet of Cluster API runs without its Machine API MachineSet, which was deleted, in Unix time.", authority.ConditionMirrored)
	return m, errors.Join(errs[:]...)
}

func (m meters) count(kind string, w *pairs.Write, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.writes.WithLabelValues(kind, string(w.Verb), result).Inc()
	if w.Failure && err == nil {
		m.failures.WithLabelValues(kind, w.Reason).Inc()
	}
}
