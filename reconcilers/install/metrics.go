// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/poundlock/poundlock/bundle"
	"github.com/poundlock/poundlock/installation"
	"github.com/poundlock/poundlock/internal/metricsregistry"
)

// meters count what the installer writes, and show the stage of each provider.
type meters struct {
	objects  *prometheus.CounterVec
	stage    *prometheus.GaugeVec
	problem  *prometheus.GaugeVec
	degraded prometheus.Gauge
	still    prometheus.Gauge
}

func newMeters() (meters, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := meters{
		objects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "poundlock_install_objects_total", Help: "Objects that the installer wrote, by provider, stage and result: applied, drift, pruned or error.",
		}, []string{"provider", "stage", "result"}),
		stage: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "poundlock_install_stage", Help: "The stage of the installation that a provider has not passed yet, 0 if the provider has passed all stages.",
		}, []string{"provider"}),
		problem: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "poundlock_install_failing", Help: "1 while the last pass of the installer over a provider ended with an error.",
		}, []string{"provider"}),
		degraded: gauge("poundlock_install_degraded", "1 while the ClusterOperator cluster-api is degraded."),
		still:    gauge("poundlock_install_standing_still", "1 while nothing is installed because OpenShift's own installer runs."),
	}
	var errs [5]error
	m.objects, errs[0] = metricsregistry.Add(metrics.Registry, m.objects)
	m.stage, errs[1] = metricsregistry.Add(metrics.Registry, m.stage)
	m.problem, errs[2] = metricsregistry.Add(metrics.Registry, m.problem)
	m.degraded, errs[3] = metricsregistry.Add(metrics.Registry, m.degraded)
	m.still, errs[4] = metricsregistry.Add(metrics.Registry, m.still)
	return m, errors.Join(errs[:]...)
}

func (m meters) count(provider string, stage bundle.Stage, result string) {
	m.objects.WithLabelValues(provider, installation.NameOf(stage), result).Inc()
}

func (m meters) show(o installation.Outcome) {
	m.stage.WithLabelValues(o.Provider).Set(float64(o.Stage))
	m.problem.WithLabelValues(o.Provider).Set(asNumber(o.Err != nil))
}

// standsStill shows whether OpenShift's own installer runs. If it does, providers and the ClusterOperator belong to that installer, and the metrics' earlier
// values about them are removed.
func (m meters) standsStill(is bool) {
	m.still.Set(asNumber(is))
	if is {
		m.stage.Reset()
		m.problem.Reset()
		m.degraded.Set(0)
	}
}

// drop removes the metrics of a provider that is not in the set any more.
func (m meters) drop(provider string) {
	m.stage.DeleteLabelValues(provider)
	m.problem.DeleteLabelValues(provider)
}

func (m meters) showDegraded(is bool) { m.degraded.Set(asNumber(is)) }

func asNumber(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
