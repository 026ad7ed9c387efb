// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
)

// inFlight is the memory that the shims in these tests have for reviews.
const inFlight = 200_000

// sized returns a review of about `bytes` bytes.
func sized(bytes int) string {
	return reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", strings.Repeat("x", bytes)))
}

func small(t *testing.T, c *converter) *Shim {
	t.Helper()
	address, ca := c.listening(t)
	shim, err := New(Options{Upstreams: []string{s + "=" + address}, Trust: rest.TLSClientConfig{CAFile: ca}, InFlight: inFlight,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !shim.memory.TryAcquire(inFlight) {
			t.Error("memory was not given back")
		}
	})
	return shim
}

// The memory of all reviews together is limited. One that does not fit beside the others is sent back with a Retry-After, and a small one is answered.
func TestManyLargeReviews(t *testing.T) {
	let, inside := make(chan struct{}), make(chan struct{}, 4)
	c := &converter{spoil: func(http.ResponseWriter, *apiextensionsv1.ConversionReview) bool {
		inside <- struct{}{}
		<-let
		return false
	}}
	shim := small(t, c)
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- ask(t, shim, sized(60_000)) }()
	<-inside
	if w := ask(t, shim, sized(60_000)); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" ||
		!strings.Contains(w.Body.String(), "memory") {
		t.Error(w.Code, w.Header(), w.Body)
	}
	if n := testutil.ToFloat64(shim.metrics.errors.WithLabelValues(overloaded)); n != 1 {
		t.Errorf("counted %v", n)
	}
	close(let)
	for _, w := range []*httptest.ResponseRecorder{ask(t, shim, sized(1000)), <-first, ask(t, shim, sized(60_000))} {
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"Success"`) {
			t.Errorf("%d %.200s", w.Code, w.Body)
		}
	}
}

// If large reviews arrive together and do not all fit, at least one is answered. Otherwise all of them would be sent back and return together.
func TestLargeReviewsAtOnce(t *testing.T) {
	shim := small(t, &converter{})
	for range 3 { // each takes the seconds for which a review waits for memory
		var answered [8]int
		var all sync.WaitGroup
		for i := range answered {
			all.Go(func() { answered[i] = ask(t, shim, sized(60_000)).Code })
		}
		all.Wait()
		if got := fmt.Sprint(answered); !strings.Contains(got, "200") || strings.Count(got, "200")+strings.Count(got, "429") != len(answered) {
			t.Error(got)
		}
	}
}

// A review that would not fit even alone is refused for good, with a sentence.
func TestTooMuchForOne(t *testing.T) {
	c := &converter{}
	shim := small(t, c)
	if w := ask(t, shim, sized(inFlight/2+1)); w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "--in-flight-mib") {
		t.Error(w.Code, w.Body)
	}
	c.spoil = func(w http.ResponseWriter, _ *apiextensionsv1.ConversionReview) bool {
		fmt.Fprintf(w, `{"kind":"ConversionReview","padding":%q}`, strings.Repeat("x", inFlight))
		return true
	}
	if w := ask(t, shim, sized(1000)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"Failure"`) ||
		!strings.Contains(w.Body.String(), "--in-flight-mib") {
		t.Errorf("%d %.500s", w.Code, w.Body)
	}
}

// A failed attempt frees its memory before the next one.
func TestAttemptsGiveMemoryBack(t *testing.T) {
	failures := 10
	c := &converter{}
	c.spoil = func(w http.ResponseWriter, _ *apiextensionsv1.ConversionReview) bool {
		if failures--; failures < 0 {
			return false
		}
		w.Header().Set("Content-Length", "100000")
		fmt.Fprintf(w, `{"kind":"ConversionReview","padding":%q`, strings.Repeat("x", 90_000))
		return true
	}
	shim := small(t, c)
	shim.o.Backoff = 1
	if w := ask(t, shim, sized(30_000)); !strings.Contains(w.Body.String(), `"Success"`) {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
}

// A caller that announces much and sends little blocks no one.
func TestAnnouncedMemoryIsNotHeld(t *testing.T) {
	shim := small(t, &converter{})
	var waiting atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = &secondRead{ReadCloser: r.Body, begins: func() { waiting.Add(1) }}
		shim.ServeHTTP(w, r)
	}))
	defer server.Close()
	for range 3 {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			connection.Close()
			_, _ = bufio.NewReader(connection).ReadByte()
		}()
		fmt.Fprintf(connection, "POST /convert HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", inFlight/2)
	}
	until(t, "the byte of each has its memory", func() bool { return waiting.Load() == 3 })
	if w := ask(t, shim, sized(60_000)); w.Code != http.StatusOK {
		t.Error(w.Code, w.Body)
	}
}

// secondRead is a body that calls begins before it is read for the second time. What the first read returned has its memory then.
type secondRead struct {
	io.ReadCloser
	reads  int
	begins func()
}

func (s *secondRead) Read(p []byte) (int, error) {
	if s.reads++; s.reads == 2 {
		s.begins()
	}
	return s.ReadCloser.Read(p)
}

// Many callers at once each get their own objects, and none is lost. A caller that was sent back retries.
func TestManyCallers(t *testing.T) {
	shim := small(t, &converter{})
	var all sync.WaitGroup
	for caller := range 32 {
		all.Go(func() {
			for n := range 4 {
				name := fmt.Sprintf("m-%d-%d-%s", caller, n, strings.Repeat("x", 1000*(caller%4)))
				review := reviewOf("v1", p+"/v1beta2", machine(p+"/v1beta1", name), machine(p+"/v1alpha4", "b-"+name))
				w := ask(t, shim, review)
				for w.Code == http.StatusTooManyRequests {
					<-time.After(10 * time.Millisecond)
					w = ask(t, shim, review)
				}
				want := fmt.Sprintf(
					`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u-1","convertedObjects":[%s,%s],"result":{"status":"Success"}}}`,
					machine(p+"/v1beta2", name), machine(p+"/v1beta2", "b-"+name))
				if w.Code != http.StatusOK || w.Body.String() != want {
					t.Errorf("%d %s\nwant %s", w.Code, w.Body, want)
					return
				}
			}
		})
	}
	all.Wait()
}
