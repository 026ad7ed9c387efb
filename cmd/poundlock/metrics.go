// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/internal/registry"
)

// showRival makes a metric of what Poundlock stands still for.
func showRival(now mode) error {
	g, err := registry.Add(metrics.Registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "poundlock_standing_still", Help: "1 while nothing is mirrored or moved because OpenShift's own migration runs, else 0.",
	}))
	if err == nil && now.rival != "" {
		g.Set(1)
	}
	return err
}
