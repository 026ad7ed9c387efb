// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/poundlock/poundlock/policies/authority"
)

func keyOf(w *world) types.NamespacedName {
	return types.NamespacedName{Namespace: w.pair.MachineAPI, Name: name}
}

// TestManager runs the controllers as they run in a cluster: woken by watches, reading from a cache.
func TestManager(t *testing.T) {
	kinds(t, func(w *world) {
		writes := &atomic.Int64{}
		w.run(writes)
		w.machineAPI(authority.MachineAPI)
		for _, to := range []authority.API{authority.MachineAPI, authority.ClusterAPI, authority.MachineAPI} {
			w.request(to)
			w.eventually("authority settles on "+string(to), func() bool {
				w.everybody()
				s := w.shape()
				return s.Current == to && s.Condition(authority.ConditionSettled).Status == "True"
			})
			w.judge()
			w.authoritative(to)
		}
		w.idle(writes)
	})
}

func (w *world) run(writes *atomic.Int64) {
	w.Helper()
	mgr, err := ctrl.NewManager(counting(plane.Admin(), writes), ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.pair.MachineAPI: {}, w.pair.ClusterAPI: {}}},
		Controller: config.Controller{SkipNameValidation: yes()},
	})
	if err != nil {
		w.Fatal(err)
	}
	if err := SetupWithManager(mgr, Options{Pairs: authority.Pairs{w.pair}}); err != nil {
		w.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(w.Context()) }()
	w.Cleanup(func() {
		if err := <-done; err != nil {
			w.Error(err)
		}
	})
}

func yes() *bool {
	b := true
	return &b
}

// idle wakes the handoff by a label that means nothing, and counts.
func (w *world) idle(writes *atomic.Int64) {
	w.Helper()
	w.eventually("the handoff comes to rest", func() bool {
		n := writes.Load()
		w.poke()
		return writes.Load() == n
	})
	before := writes.Load()
	for range 5 {
		w.poke()
	}
	if n := writes.Load() - before; n != 0 {
		w.Errorf("idle passes wrote %d times", n)
	}
}

// poke returns when the handoff has looked at a change that is none of its business.
func (w *world) poke() {
	w.Helper()
	before := w.passes()
	w.merge(w.mapi(), "", map[string]any{"metadata": map[string]any{"labels": map[string]any{"poke": fmt.Sprint(time.Now().UnixNano())}}})
	w.eventually("the handoff wakes", func() bool { return w.passes() > before })
}

// passes counts those of the kind's controllers in this process, which is this test's alone.
func (w *world) passes() (n float64) {
	w.series("controller_runtime_reconcile_time_seconds", func(labels map[string]string, count float64) {
		if labels["controller"] == "handoff-"+strings.ToLower(w.kind.Name) {
			n += count
		}
	})
	return n
}

// series shows each series of a metric: a counter's or gauge's value, a histogram's count.
func (w *world) series(metric string, see func(labels map[string]string, value float64)) {
	w.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			see(labels, m.GetCounter().GetValue()+m.GetGauge().GetValue()+float64(m.GetHistogram().GetSampleCount()))
		}
	}
}

func (w *world) eventually(what string, is func() bool) {
	w.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if is() {
			return
		}
		select {
		case <-w.Context().Done():
			w.Fatal(w.Context().Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	w.Fatalf("%s: not in 30 s: %+v", what, w.shape())
}
