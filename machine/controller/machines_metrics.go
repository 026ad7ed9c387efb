// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/internal/metricsregistry"
)

// machineMeters counts failures at the provider.
type machineMeters struct{ failures *prometheus.CounterVec }

func newMachineMeters() (machineMeters, error) {
	failures, err := metricsregistry.Add(metrics.Registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mapi_machine_actuator_failures_total",
		Help: "Failed calls of the provider's actuator, by step (Exists, Create, Update, Delete, or FindInstance: the provider does not find the instance) " +
			"and terminal (true: a retry cannot help).",
	}, []string{"step", "terminal"}))
	return machineMeters{failures}, err
}

func (m machineMeters) failed(step string, terminal bool) {
	m.failures.WithLabelValues(step, strconv.FormatBool(terminal)).Inc()
}
