// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package reread

import (
	"io"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

// pauses are the waits before the second and the third try.
var pauses = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 3, Jitter: 0.5, Steps: 2}

// Transport returns a RoundTripper that sends a GET up to three times while the server answers with a failure or the connection is lost. It never repeats a
// watch.
func Transport(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip sends a request, repeatedly if necessary. If the request's context ends between two attempts, RoundTrip returns the last answer.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	left := pauses
	for {
		response, err := t.next.RoundTrip(r)
		if !reads(r) || answered(response, err) || left.Steps == 0 {
			return response, err
		}
		select {
		case <-r.Context().Done():
			return response, err
		case <-time.After(left.Step()):
		}
		if response != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection can be used again
			_ = response.Body.Close()
		}
	}
}

// WrappedRoundTripper returns the wrapped RoundTripper.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

var _ utilnet.RoundTripperWrapper = transport{}

func reads(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.Body == nil || r.Body == http.NoBody) && !r.URL.Query().Has("watch")
}

// answered reports whether an answer must not be followed by another attempt: it is no failure of the server, or it has a Retry-After, which client-go obeys.
func answered(response *http.Response, err error) bool {
	if err != nil {
		return false
	}
	switch response.StatusCode {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return response.Header.Get("Retry-After") != ""
	}
	return true
}
