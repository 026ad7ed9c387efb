// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package reread_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/poundlock/poundlock/internal/reread"
)

func TestWhatIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, query string
		status              int
		headers             http.Header
		failures            int32
		// sent is how often the server sees the request, got its last answer.
		sent int32
		got  int
	}{
		{name: "an answer", status: 500, failures: 0, sent: 1, got: 200},
		{name: "one internal error", status: 500, failures: 1, sent: 2, got: 200},
		{name: "two", status: 500, failures: 2, sent: 3, got: 200},
		{name: "no end of them", status: 500, failures: 9, sent: 3, got: 500},
		{name: "no service", status: 503, failures: 1, sent: 2, got: 200},
		{name: "no service, come again in a second: client-go's", status: 503, headers: http.Header{"Retry-After": {"1"}}, failures: 1, sent: 1, got: 503},
		{name: "one request too many: client-go's", status: 429, failures: 1, sent: 1, got: 429},
		{name: "a time-out", status: 504, failures: 1, sent: 2, got: 200},
		{name: "nothing there", status: 404, failures: 1, sent: 1, got: 404},
		{name: "a watch: the reflector's", query: "watch=1", status: 500, failures: 1, sent: 1, got: 500},
		{name: "a write", method: http.MethodPatch, status: 500, failures: 1, sent: 1, got: 500},
		{name: "a lost connection", status: 0, failures: 2, sent: 3, got: 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				switch {
				case sent.Add(1) > c.failures:
					_, _ = io.WriteString(w, "here")
				case c.status == 0:
					panic(http.ErrAbortHandler)
				default:
					for key, values := range c.headers {
						w.Header()[key] = values
					}
					http.Error(w, "not here", c.status)
				}
			}))
			defer server.Close()
			var body io.Reader
			if c.method == http.MethodPatch {
				body = strings.NewReader("{}")
			}
			r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+"?"+c.query, body)
			if err != nil {
				t.Fatal(err)
			}
			response, err := (&http.Client{Transport: reread.Transport(&http.Transport{DisableKeepAlives: true})}).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			text, err := io.ReadAll(response.Body)
			if err != nil || (c.got == 200) != (string(text) == "here") {
				t.Errorf("the body is %q: %v", text, err)
			}
			if response.StatusCode != c.got || sent.Load() != c.sent {
				t.Errorf("%d after %d requests, want %d after %d", response.StatusCode, sent.Load(), c.got, c.sent)
			}
		})
	}
}

// A request that nobody waits for any more is not sent again, and its answer can still be read.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var sent atomic.Int32
	next := trip(func(*http.Request) (*http.Response, error) {
		sent.Add(1)
		cancel()
		return &http.Response{StatusCode: 500, Body: io.NopCloser(strings.NewReader("why"))}, nil
	})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	r.Body = nil
	response, err := reread.Transport(next).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "why" || sent.Load() != 1 {
		t.Errorf("%q after %d requests: %v", text, sent.Load(), err)
	}
}

type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
