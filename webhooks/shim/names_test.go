// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Monitoring relies on the names of metrics, labels, buckets and messages in private-capi-types › Observability.
func TestNames(t *testing.T) {
	var log bytes.Buffer
	registry := prometheus.NewPedanticRegistry()
	upstream := &converter{spoil: func(_ http.ResponseWriter, r *apiextensionsv1.ConversionReview) bool {
		r.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: "spoiled"}
		return false
	}}
	address, ca := upstream.listening(t)
	shim, err := New(Options{
		Upstreams: []string{s + "=" + address, "away." + s + "=https://127.0.0.1:1/convert"}, Trust: rest.TLSClientConfig{CAFile: ca},
		Budget: 2 * time.Second, Backoff: 100 * time.Millisecond, Registerer: registry, Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, shim, reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", "a")))
	ask(t, shim, reviewOf("v1", "away."+p+"/v1beta2", machine("away."+p+"/v1beta1", "a")))
	ask(t, shim, "{}")

	type line struct{ Level, Msg, From, To, Resource string }
	var got []line
	for lines := json.NewDecoder(&log); lines.More(); {
		var l struct {
			Level, Msg, Resource string
			From                 string `json:"from_version"`
			To                   string `json:"to_version"`
		}
		if err := lines.Decode(&l); err != nil {
			t.Fatal(err)
		}
		got = append(got, line{Level: l.Level, Msg: l.Msg, From: l.From, To: l.To, Resource: l.Resource})
	}
	if d := gocmp.Diff([]line{
		{Level: "ERROR", Msg: "Conversion request failed", From: "v1beta1", To: "v1beta2", Resource: "machine"},
		{Level: "ERROR", Msg: "Upstream webhook unavailable", From: "v1beta1", To: "v1beta2", Resource: "machine"},
		{Level: "WARN", Msg: "Invalid conversion review request"},
	}, got); d != "" {
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
	if d := gocmp.Diff(map[string]metric{
		"hypershift_conversion_webhook_requests_total":   {"COUNTER", []string{"from_version", "resource", "result", "to_version"}, nil},
		"hypershift_conversion_webhook_duration_seconds": {"HISTOGRAM", []string{"from_version", "resource", "to_version"}, []float64{.001, .005, .01, .05, .1, .5}},
		"hypershift_conversion_webhook_errors_total":     {"COUNTER", []string{"error_type"}, nil},
	}, metrics, gocmp.AllowUnexported(metric{})); d != "" {
		t.Error(d)
	}
}
