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
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/translation"
)

// object is one of 5 KB. Nobody reads about half of it.
var object = `{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","kind":"Machine","metadata":{"managedFields":[{"apiVersion":"cluster.hypershift.openshift.io/v1beta2","fieldsV1":{` +
	strings.Repeat(`"f:a":{"f:bcdef":{},"k:{\"type\":\"Ready\"}":{".":{},"f:message":{}}},`,
		30) + `"f:z":{}}}],"name":"m","ownerReferences":[{"apiVersion":"cluster.hypershift.openshift.io/v1beta2",` +
	`"kind":"MachineSet","name":"s"}]},"spec":{"infrastructureRef":{"apiGroup":"infrastructure.cluster.hypershift.openshift.io","kind":"AWSMachine","name":"m"}},"status":{"conditions":[` +
	strings.Repeat(`{"lastTransitionTime":"2026-11-20T10:00:00Z","message":"","observedGeneration":2,"reason":"NodeHealthy","status":"True","type":"NodeHealthy"},`,
		18) + `{}]}}`

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
	config := &rest.Config{Host: upstream.URL,
		TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})}}
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
	passing := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }, Transport: p.multiple,
		FlushInterval: -1, BufferPool: &buffers{}})
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

// BenchmarkCompared compares the proxy with a reverse proxy that translates nothing, and with no proxy: small objects and a list of 2,000, in
// five rounds in turns. What is reported are medians of the rounds.
func BenchmarkCompared(b *testing.B) {
	const rounds, gets, lists = 5, 800, 12
	direct, addresses := servers(b)
	ways := []string{"direct", "passing", "translating"}
	for b.Loop() {
		p50, p95, each, garbage := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
		list, cpu := map[string][]float64{}, map[string][]float64{}
		for round := range rounds + 1 { // the first warms up
			for _, way := range ways {
				client := http.DefaultClient
				if way == "direct" {
					client = direct
				}
				before, made := used(b), allocated()
				small, _ := timed(b, client, addresses[way]+machinesPath+"/m", gets)
				spentOnSmall, madeForSmall := used(b)-before, allocated()-made
				before = used(b)
				large, megabytes := timed(b, client, addresses[way]+machinesPath+"?items=2000", lists)
				spent := used(b) - before
				if round == 0 {
					continue
				}
				p50[way], p95[way] = append(p50[way], small[gets/2]), append(p95[way], small[gets*95/100])
				each[way], garbage[way] = append(each[way], spentOnSmall/gets), append(garbage[way], madeForSmall/gets)
				list[way], cpu[way] = append(list[way], large[lists/2]), append(cpu[way], spent/megabytes)
			}
		}
		for _, way := range ways {
			b.Logf("%-12s small p50 %4.0f µs, p95 %5.0f µs, CPU %4.0f µs, %3.0f allocations; list %6.1f ms; CPU %5.2f ms/MB, client and server included",
				way, median(p50[way])*1e6, median(p95[way])*1e6, median(each[way])*1e6, median(garbage[way]), median(list[way])*1e3, median(cpu[way])*1e3)
		}
		b.ReportMetric(median(p50["translating"])/median(p50["passing"]), "small-p50-ratio")
		b.ReportMetric((median(p50["translating"])-median(p50["passing"]))*1e6, "small-p50-added-µs")
		b.ReportMetric(median(p95["translating"])/median(p95["passing"]), "small-p95-ratio")
		b.ReportMetric((median(each["translating"])-median(each["passing"]))*1e6, "small-CPU-added-µs")
		b.ReportMetric(median(garbage["translating"])-median(garbage["passing"]), "small-added-allocs")
		b.ReportMetric(median(list["translating"])/median(list["passing"]), "list-ratio")
		b.ReportMetric(median(cpu["translating"])/median(cpu["passing"]), "list-CPU-ratio")
		b.ReportMetric((median(cpu["translating"])-median(cpu["passing"]))*1e3, "list-added-ms/MB")
	}
}

// timed are how many seconds each of some requests took, sorted, and how many MB there were.
func timed(b *testing.B, c *http.Client, url string, times int) (seconds []float64, megabytes float64) {
	for range times {
		began := time.Now()
		megabytes += float64(read(b, c, url)) / 1e6
		seconds = append(seconds, time.Since(began).Seconds())
	}
	slices.Sort(seconds)
	return seconds, megabytes
}

// used is how much time of processors this process has taken, in seconds.
func used(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// allocated is how many objects this process has allocated.
func allocated() float64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return float64(now.Mallocs)
}

func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// TestMemory: a list of 64 MB passes in the memory of a short one (test/private has a list of 100 MB). It compares the largest heap while the list is read, of
// client, proxy and server together. The sum of all allocations would not do: under the race detector a pool gives back only some of what it got.
func TestMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // whatever the environment has
	_, addresses := servers(t)
	read(t, http.DefaultClient, addresses["translating"]+machinesPath+"?items=100")
	answer, err := http.Get(fmt.Sprintf("%s%s?items=%d", addresses["translating"], machinesPath, 64<<20/len(object)))
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
	if total < 58<<20 || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) { // the last piece is a short one
		t.Fatal(total, err)
	}
	if most > 40<<20 {
		t.Errorf("the heap grew to %d MB for a list of 64 MB", most>>20)
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
