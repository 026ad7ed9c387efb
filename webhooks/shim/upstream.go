// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/translation"
)

// upstream is a converter, and its client.
type upstream struct {
	translation.Converter
	client *http.Client
}

// reach returns the HTTP client for all converters.
func reach(trust rest.TLSClientConfig) (*http.Client, error) {
	transport, err := rest.TransportFor(&rest.Config{
		// HTTP/1.1 is used because HTTP/2 would keep using one of several replicas.
		TLSClientConfig: rest.TLSClientConfig{CAFile: trust.CAFile, CertFile: trust.CertFile, KeyFile: trust.KeyFile, NextProtos: []string{"http/1.1"}},
		Dial:            (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
		Proxy:           func(*http.Request) (*url.URL, error) { return nil, nil },
	})
	if err != nil {
		return nil, fmt.Errorf("making a transport to the upstreams: %w", err)
	}
	// No redirect is followed, because a server that redirects is no converter.
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// problem is the error of a conversion, with its error type in the metrics.
type problem struct {
	errorType string
	message   string
}

func (p *problem) Error() string { return p.message }

func problemf(errorType, format string, args ...any) *problem {
	return &problem{errorType, fmt.Sprintf(format, args...)}
}

// ask sends a review to the converter. If the converter cannot be reached, it repeats the call until ctx is done, because the API server does not repeat its
// own call. It calls the function reached after any answer.
func (u upstream) ask(ctx context.Context, c *conversion, h *held, o Options, reached func()) (*response, *problem) {
	backoff := o.backoff()
	for before := *h; ; h.backTo(before) {
		r, err := u.try(ctx, c, h, o, reached)
		var p *problem
		if err == nil || errors.As(err, &p) {
			return r, p
		}
		if !paused(ctx, backoff.Step()) {
			return nil, problemf(unavailable, "the converter %s is unavailable: %s", u.URL, err)
		}
	}
}

func (o Options) backoff() wait.Backoff {
	return wait.Backoff{Duration: o.Backoff, Factor: 2, Jitter: 0.5, Steps: 1 << 30, Cap: 20 * o.Backoff}
}

// paused waits for the time d, and returns true; false if ctx is done before.
func paused(ctx context.Context, d time.Duration) bool {
	pause := time.NewTimer(d)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-pause.C:
		return true
	}
}

// try calls the converter once. If its error is no *problem, the error may be transient, and the call may be repeated.
func (u upstream) try(ctx context.Context, c *conversion, h *held, o Options, reached func()) (*response, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Attempt)
	defer cancel()
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, u.URL, c.request())
	if err != nil {
		return nil, problemf(unavailable, "the converter %s cannot be called: %s", u.URL, err)
	}
	call.Header.Set("Content-Type", "application/json")
	call.Header.Set("Accept", "application/json")
	answer, err := u.client.Do(call)
	switch {
	case translation.Malformed(err):
		return nil, problemf(translationFailed, "the objects cannot be translated: %s", err)
	case err != nil:
		return nil, err
	}
	defer answer.Body.Close()
	reached()
	switch answer.StatusCode {
	case http.StatusOK:
		return u.answer(ctx, answer.Body, h, o)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, fmt.Errorf("it answered %s", answer.Status)
	}
	return nil, problemf(upstreamFailed, "the converter %s answered %s", u.URL, answer.Status)
}

// answer reads the converter's answer, and translates it to private names.
func (u upstream) answer(ctx context.Context, body io.Reader, h *held, o Options) (*response, error) {
	translated := translation.NewReader(http.MaxBytesReader(nil, io.NopCloser(body), 2*o.MaxBytes),
		translation.NewScanner(translation.ToPrivate, translation.ConversionReviews))
	defer translated.Close()
	text, err := io.ReadAll(h.answer(ctx, translated))
	if err != nil {
		var large *http.MaxBytesError
		var much *tooMuch
		switch {
		case errors.Is(err, errFull):
			return nil, problemf(overloaded, "%s: try again", err)
		case translation.Malformed(err), errors.As(err, &large), errors.As(err, &much):
			return nil, problemf(translationFailed, "the answer of the converter %s cannot be translated: %s", u.URL, err)
		}
		return nil, fmt.Errorf("its answer broke off: %w", err)
	}
	r, err := read(text)
	switch {
	case err != nil:
		return nil, problemf(translationFailed, "the converter %s answered with no review: %s", u.URL, err)
	case r.Response == nil:
		return nil, problemf(translationFailed, "the converter %s answered with a review that has no response", u.URL)
	}
	return r.Response, nil
}

// reachable returns an error unless the converter's address answers. It requests another path than reviews do, so that the converter does not log an error.
func (u upstream) reachable(ctx context.Context) error {
	to, err := url.Parse(u.URL)
	if err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, to.Scheme+"://"+to.Host+"/", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := u.client.Do(ask)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
