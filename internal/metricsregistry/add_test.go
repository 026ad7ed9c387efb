// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package metricsregistry_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/poundlock/poundlock/internal/metricsregistry"
)

func TestTheSecondManagerCountsWithTheFirstOne(t *testing.T) {
	r := prometheus.NewRegistry()
	one := func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "n", Help: "h"}, []string{"l"})
	}
	first, err := metricsregistry.Add(r, one())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := metricsregistry.Add(r, one()); err != nil || second != first {
		t.Errorf("another collector, or %v", err)
	}
	if _, err := metricsregistry.Add(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: "n", Help: "h"})); err == nil {
		t.Error("one of another kind is taken under the same name")
	}
}

func TestOfAManagerThatHasStoppedNoGaugeIsLeft(t *testing.T) {
	r := prometheus.NewRegistry()
	one, err := metricsregistry.Add(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: "one", Help: "h"}))
	if err != nil {
		t.Fatal(err)
	}
	each, err := metricsregistry.Add(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "each", Help: "h"}, []string{"l"}))
	if err != nil {
		t.Fatal(err)
	}
	counted, err := metricsregistry.Add(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "counted", Help: "h"}))
	if err != nil {
		t.Fatal(err)
	}
	one.Set(1)
	each.WithLabelValues("a").Set(1)
	counted.Inc()
	metricsregistry.Clear()
	if n := testutil.CollectAndCount(each); n != 0 || testutil.ToFloat64(one) != 0 {
		t.Errorf("%d series and the value %v are left", n, testutil.ToFloat64(one))
	}
	if testutil.ToFloat64(counted) != 1 {
		t.Error("what was counted is forgotten")
	}
}
