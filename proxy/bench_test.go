// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/translation"
)

// object is one of 5 KB. Nobody reads about half of it.
var object = `{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","kind":"Machine","metadata":{"managedFields":[{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","fieldsV1":{` +
	strings.Repeat(`"f:a":{"f:bcdef":{},"k:{\"type\":\"Ready\"}":{".":{},"f:message":{}}},`, 30) + `"f:z":{}}}],"name":"m","ownerReferences":[{"apiVersion":"cluster.hypershift.openshift.io/v1beta2",` +
	`"kind":"MachineSet","name":"s"}]},"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.hypershift.openshift.io","kind":"AWSMachine","name":"m"}},"status":{"conditions":[` +
	strings.Repeat(`{"lastTransitionTime":"2026-11-20T10:00:00Z","message":"","observedGeneration":2,"reason":"NodeHealthy","status":"True","type":"NodeHealthy"},`, 18) + `{}]}}`

// list is written as an API server does, in pieces.
func list(w io.Writer, items int) {
	_, _ = io.WriteString(w, `{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","items":[`+object)
	next := []byte("," + object)
	for range items - 1 {
		if _, err := w.Write(next); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, `],"kind":"MachineList"}`)
}

// servers are an API server's stand-in, the proxy before it, and a reverse proxy that only passes bytes on.
func servers(tb testing.TB) (direct *http.Client, addresses map[string]string) {
	tb.Helper()
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var items int
		if _, err := fmt.Sscan(r.URL.Query().Get("items"), &items); err != nil {
			_, _ = io.WriteString(w, object)
			return
		}
		list(w, items)
	}))
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	tb.Cleanup(upstream.Close)
	config := &rest.Config{Host: upstream.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})}}
	p, err := New(Options{Upstream: config, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	translating := httptest.NewServer(p)
	tb.Cleanup(translating.Close)
	base, err := url.Parse(upstream.URL)
	if err != nil {
		tb.Fatal(err)
	}
	passing := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }, Transport: p.multiple, FlushInterval: -1, BufferPool: &buffers{}})
	tb.Cleanup(passing.Close)
	return upstream.Client(), map[string]string{"direct": upstream.URL, "passing": passing.URL, "translating": translating.URL}
}

func read(tb testing.TB, c *http.Client, url string) int64 {
	tb.Helper()
	answer, err := c.Get(url)
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		tb.Fatal(answer.Status, err)
	}
	return n
}

// BenchmarkGet and BenchmarkList show what the proxy adds to a reverse proxy that translates nothing.
func BenchmarkGet(b *testing.B) { bench(b, machinesPath+"/m") }

func BenchmarkList(b *testing.B) { bench(b, machinesPath+"?items=2000") }

func bench(b *testing.B, path string) {
	direct, addresses := servers(b)
	for _, name := range []string{"direct", "passing", "translating"} {
		b.Run(name, func(b *testing.B) {
			client := http.DefaultClient
			if name == "direct" {
				client = direct
			}
			for b.Loop() {
				b.SetBytes(read(b, client, addresses[name]+path))
			}
		})
	}
}

// A list of 100 MB passes in the memory of a short one: of client, proxy and server together, the heap at its largest while the list is read. What is allocated in
// all would not do: under the race detector a pool gives back only some of what it got.
func TestMemory(t *testing.T) {
	_, addresses := servers(t)
	read(t, http.DefaultClient, addresses["translating"]+machinesPath+"?items=100")
	answer, err := http.Get(fmt.Sprintf("%s%s?items=%d", addresses["translating"], machinesPath, 100<<20/len(object)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var total, most int64
	for buffer := make([]byte, 1<<20); err == nil; {
		var n int
		n, err = io.ReadFull(answer.Body, buffer)
		total += int64(n)
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		most = max(most, int64(now.HeapAlloc))
	}
	if total < 90<<20 || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // the last piece is a short one
		t.Fatal(total, err)
	}
	if most > 40<<20 {
		t.Errorf("the heap grew to %d MB for a list of 100 MB", most>>20)
	}
}

// What the stand-in's objects are to a client.
func TestTheBenchmarkTranslates(t *testing.T) {
	_, addresses := servers(t)
	_, body, err := ask(t, "GET", addresses["translating"]+machinesPath+"?items=2", "")
	if err != nil || strings.Contains(body, translation.Private) || strings.Count(body, translation.Standard) != 9 {
		t.Errorf("%.300s %v", body, err)
	}
}
