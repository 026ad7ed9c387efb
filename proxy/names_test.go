// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

// Monitoring looks for metrics, labels, buckets and messages by the names that private-capi-types › Observability gives to them.
func TestNames(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewPedanticRegistry()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", r.URL.Query().Get("answer"))
		_, _ = io.WriteString(w, `{"kind":"`+strings.Repeat("x", 2*lead))
	}))
	t.Cleanup(upstream.Close)
	p, err := New(Options{Upstream: &rest.Config{Host: upstream.URL}, Registerer: registry, Log: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	for _, answer := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		_, _, _ = ask(t, "GET", server.URL+machinesPath+"?answer="+answer, "") // the first one breaks off
	}
	upstream.Close()
	if _, _, err := ask(t, "GET", server.URL+machinesPath, ""); err != nil {
		t.Fatal(err)
	}
	server.Close() // waits for what is still being answered
	got := map[string]string{}
	for lines := json.NewDecoder(&log); lines.More(); {
		var line struct{ Level, Msg string }
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		got[line.Msg] = line.Level
	}
	if d := cmp.Diff(map[string]string{"Translation error": "ERROR", "Proxy request failed": "WARN", "Unsupported resource type": "WARN"}, got); d != "" {
		t.Error(d)
	}

	type metric struct {
		kind    string
		labels  []string
		buckets []float64
	}
	metrics := map[string]metric{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		m := metric{kind: f.GetType().String()}
		for _, l := range f.GetMetric()[0].GetLabel() {
			m.labels = append(m.labels, l.GetName())
		}
		for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
			m.buckets = append(m.buckets, b.GetUpperBound())
		}
		metrics[f.GetName()] = m
	}
	want := map[string]metric{
		"hypershift_api_proxy_requests_total":           {"COUNTER", []string{"code", "method", "resource"}, nil},
		"hypershift_api_proxy_request_duration_seconds": {"HISTOGRAM", []string{"method", "resource"}, []float64{.001, .005, .01, .05, .1, .5, 1}},
		"hypershift_api_proxy_overhead_seconds":         {"HISTOGRAM", []string{"method"}, []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .05, .1}},
		"hypershift_api_proxy_translation_errors_total": {"COUNTER", []string{"error_type"}, nil},
	}
	if d := cmp.Diff(want, metrics, cmp.AllowUnexported(metric{})); d != "" {
		t.Error(d)
	}
}
