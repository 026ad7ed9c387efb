// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/poundlock/poundlock/internal/registry"
)

func TestTheSecondManagerCountsWithTheFirstOne(t *testing.T) {
	r := prometheus.NewRegistry()
	one := func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "n", Help: "h"}, []string{"l"})
	}
	first, err := registry.Add(r, one())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := registry.Add(r, one()); err != nil || second != first {
		t.Errorf("another collector, or %v", err)
	}
	if _, err := registry.Add(r, prometheus.NewGauge(prometheus.GaugeOpts{Name: "n", Help: "h"})); err == nil {
		t.Error("one of another kind is taken under the same name")
	}
}
