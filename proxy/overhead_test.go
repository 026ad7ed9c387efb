// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const slow = 300 * time.Millisecond

// slowBody is a body that the client sends slowly.
type slowBody struct{ io.Reader }

func (s slowBody) Read(b []byte) (int, error) {
	<-time.After(slow)
	return s.Reader.Read(b)
}

// slowClient receives slowly.
type slowClient struct{ *httptest.ResponseRecorder }

func (s slowClient) Write(b []byte) (int, error) {
	<-time.After(slow)
	return s.ResponseRecorder.Write(b)
}

// What the API server and the client take is not the proxy's own time.
func TestOverhead(t *testing.T) {
	p, _ := before(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-time.After(slow)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"Machine",`)
		_ = http.NewResponseController(w).Flush()
		<-time.After(slow)
		_, _ = io.WriteString(w, storedObject[1:])
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "http://127.0.0.1"+machinesPath+"/m", slowBody{strings.NewReader(readObject)})
	r.ContentLength = int64(len(readObject))
	r.Header.Set("Content-Type", "application/json")
	answer := slowClient{httptest.NewRecorder()}
	p.ServeHTTP(answer, r)
	if want := `{"kind":"Machine",` + readObject[1:]; answer.Body.String() != want {
		t.Fatal(answer.Code, answer.Body)
	}
	took, own := sum(t, p, "hypershift_api_proxy_request_duration_seconds"), sum(t, p, "hypershift_api_proxy_overhead_seconds")
	if took < (4*slow).Seconds() || own <= 0 || own > slow.Seconds() {
		t.Errorf("of %v s, %v are the proxy's own", took, own)
	}
}

// What lasts for as long as somebody wants it is in no histogram.
func TestWhatLastsHasNoDuration(t *testing.T) {
	p, url := before(t, func(w http.ResponseWriter, _ *http.Request) { respond("application/json", "{}")(w, nil) })
	for _, path := range []string{machinesPath + "?watch=1", "/api/v1/namespaces/n/pods/p/log?follow=true"} {
		if _, _, err := ask(t, "GET", url+path, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"hypershift_api_proxy_request_duration_seconds", "hypershift_api_proxy_overhead_seconds"} {
		if got := sum(t, p, name); got != 0 {
			t.Errorf("%s has %v s", name, got)
		}
	}
}

// sum is that of all series of a histogram.
func sum(t *testing.T, p *Proxy, name string) (seconds float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(p.metrics)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				seconds += m.GetHistogram().GetSampleSum()
			}
		}
	}
	return seconds
}
