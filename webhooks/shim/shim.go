// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/poundlock/poundlock/translation"
)

// Options are the parameters of New.
type Options struct {
	// Upstreams are converters, each as SUFFIX=URL: a group that equals SUFFIX or ends in it is converted at URL. If several match a group, the longest SUFFIX
	// counts.
	Upstreams []string
	// Trust has the files with the CA that signed the upstreams' certificates, and with a client certificate if the upstreams require one. Without a CA, the
	// system's CAs count. The files are read again when they change.
	Trust rest.TLSClientConfig
	// Concurrency is how many reviews are converted at the same time; 16 by default.
	Concurrency int
	// MaxBytes is the maximum size of a review; 64 MiB by default.
	MaxBytes int64
	// InFlight is how many bytes all reviews and the converters' answers may have together at the same time. The default is three times MaxBytes, so that the
	// answer to the largest review may have twice the size of the review. The process needs up to three times InFlight while it reads these bytes.
	InFlight int64
	// Budget is the time within which a review is answered, from its headers on and with all attempts; 25 s by default, because the API server waits 30 s.
	Budget time.Duration
	// Attempt is how long one call of a converter may take, and how long the body of a review may take to arrive. The default is 10 s: if a replica of a converter
	// hangs, there is time for another replica within the Budget.
	Attempt time.Duration
	// Backoff is the pause before the second attempt; 100 ms by default. It doubles with each attempt, up to twenty times Backoff.
	Backoff time.Duration
	// Delay is how long a replica that is about to end still accepts reviews while its readiness fails, because the API server may still send some. 0 means no
	// delay.
	Delay time.Duration
	// Registerer registers the metrics. If it is nil, they are not registered.
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// Shim is the HTTP handler for the API server's conversion reviews.
type Shim struct {
	o          Options
	converters translation.Converters
	client     *http.Client
	metrics    *metrics
	slots      chan struct{}
	memory     *semaphore.Weighted
	reached    atomic.Bool // an upstream has answered once
	draining   atomic.Bool
}

// New makes a shim. It connects to nothing yet.
func New(o Options) (*Shim, error) {
	converters, err := translation.ParseConverters(o.Upstreams)
	if err != nil {
		return nil, err
	}
	client, err := reach(o.Trust)
	if err != nil {
		return nil, err
	}
	o.Concurrency, o.MaxBytes = orDefault(o.Concurrency, 16), orDefault(o.MaxBytes, 64<<20)
	o.Budget, o.Attempt, o.Backoff = orDefault(o.Budget, 25*time.Second), orDefault(o.Attempt, 10*time.Second), orDefault(o.Backoff, 100*time.Millisecond)
	o.InFlight = orDefault(o.InFlight, 3*o.MaxBytes)
	s := &Shim{
		o: o, converters: converters, client: client, metrics: newMetrics(), slots: make(chan struct{}, o.Concurrency), memory: semaphore.NewWeighted(o.InFlight),
	}
	if o.Registerer != nil {
		if err := o.Registerer.Register(s.metrics); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return s, nil
}

func orDefault[N ~int | ~int64](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}

// ServeHTTP implements http.Handler.
func (s *Shim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	h := &held{all: s.memory, most: s.o.InFlight}
	defer h.backTo(held{all: s.memory})
	c, code, err := s.read(w, r, h)
	if errors.Is(err, errFull) {
		s.refuse(w, http.StatusTooManyRequests, overloaded, fmt.Errorf("%w: try again", err), begin)
		return
	}
	if err != nil {
		s.refuse(w, code, invalidRequest, err, begin)
		return
	}
	// Only now, because a client that sends slowly would otherwise keep a slot.
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		s.refuse(w, http.StatusTooManyRequests, overloaded, fmt.Errorf("%d conversion reviews are being converted at the same time, which is the maximum: "+
			"try again", s.o.Concurrency), begin)
		return
	}
	ctx, cancel := context.WithDeadline(r.Context(), begin.Add(s.o.Budget))
	defer cancel()
	p := s.convert(ctx, c, h)
	if p != nil && p.errorType == overloaded {
		s.refuse(w, http.StatusTooManyRequests, overloaded, p, begin)
		return
	}
	l := unknown
	if c.convertible() == nil {
		l = c.labels()
	}
	s.metrics.answered(l, p, time.Since(begin))
	w.Header().Set("Content-Type", "application/json")
	if p != nil {
		s.log(l, p)
	}
	if p == nil || p.errorType == uidMismatch { // the objects fit this request, even if the uid differs
		err = c.succeeded(w)
	} else {
		err = c.failed(w, "poundlock shim: "+p.message)
	}
	if err != nil {
		s.o.Log.Debug("Nobody read an answer", "error", err)
	}
}

// read reads a review from the request. If the request has none, it returns an error and the status code for the caller.
func (s *Shim) read(w http.ResponseWriter, r *http.Request, h *held) (*conversion, int, error) {
	// The deadline ends a request whose sender stops sending, which would otherwise block others. It also ends what Go's server reads of a body that is refused.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(s.o.Attempt))
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("the method is %s: POST a ConversionReview", r.Method)
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("the Content-Type is %q: send application/json", r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(h.body(r.Context(), http.MaxBytesReader(w, r.Body, s.o.MaxBytes)))
	var large *http.MaxBytesError
	var much *tooMuch
	switch {
	case errors.As(err, &much):
		return nil, http.StatusRequestEntityTooLarge, err
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the review is larger than %d bytes", s.o.MaxBytes)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout, fmt.Errorf("the body did not come within %s", s.o.Attempt)
	case err != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("reading the body: %w", err)
	}
	_ = connection.SetReadDeadline(time.Time{})
	v, err := read(body)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	c, err := newConversion(v)
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	return c, 0, nil
}

// convert replaces the objects of a conversion by converted ones. If it returns a problem other than uidMismatch, the objects must not be used.
func (s *Shim) convert(ctx context.Context, c *conversion, h *held) *problem {
	if err := c.convertible(); err != nil {
		return &problem{invalidRequest, err.Error()}
	}
	if len(c.todo()) == 0 {
		return nil
	}
	group := translation.ToStandard.Group(c.desired.Group)
	converter, has := s.converters.Of(group)
	if !has {
		return problemf(notConfigured, "no converter is configured for %s: start the shim with --upstream %s=URL", group, group)
	}
	u := upstream{converter, s.client}
	r, p := u.ask(ctx, c, h, s.o, func() { s.reached.Store(true) })
	if p != nil {
		return p
	}
	if r.Result.Status != metav1.StatusSuccess {
		return problemf(upstreamFailed, "the converter %s answered %q: %s", u.URL, r.Result.Status, r.Result.Message)
	}
	if err := c.accept(r); err != nil {
		return problemf(translationFailed, "the answer of the converter %s does not match the request: %s", u.URL, err)
	}
	if r.UID != c.uid {
		return problemf(uidMismatch, "the converter %s answered with the uid %q instead of the request's uid %q", u.URL, r.UID, c.uid)
	}
	return nil
}

// refuse answers a body that is no review, or a review for which there is no room.
func (s *Shim) refuse(w http.ResponseWriter, code int, errorType string, err error, begin time.Time) {
	s.metrics.answered(unknown, &problem{errorType, err.Error()}, time.Since(begin))
	s.o.Log.Warn("Invalid conversion review request", "error_type", errorType, "code", code, "error", err)
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, "poundlock shim: "+err.Error(), code)
}

func (s *Shim) log(l labels, p *problem) {
	message := "Conversion request failed"
	level := slog.LevelError
	switch p.errorType {
	case unavailable:
		message = "Upstream webhook unavailable"
	case invalidRequest:
		message, level = "Invalid conversion review request", slog.LevelWarn
	case uidMismatch:
		message, level = "The converter answered with another uid than the request's", slog.LevelWarn
	}
	s.o.Log.Log(context.Background(), level, message, "error_type", p.errorType, "resource", l.resource, "from_version", l.from, "to_version",
		l.to, "error", p.message)
}
