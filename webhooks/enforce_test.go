// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A configuration that somebody deletes is noticed within a minute and a turn, and labels stay whatever is answered.
func TestAnAnswerThatFailsToComeIsNoticed(t *testing.T) {
	var (
		clock    = time.Unix(1e9, 0)
		answer   error
		asked    int
		stopping error
	)
	e := &enforcement{
		log: logr.Discard(), now: func() time.Time { return clock }, enforced: prometheus.NewGauge(prometheus.GaugeOpts{Name: "enforced"}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "probes"}, []string{"answered"}),
		probe:  func(context.Context) error { asked++; return answer },
		ready:  func(context.Context) error { return stopping },
	}
	step := func(what string, after time.Duration, want float64, asks int) {
		t.Helper()
		clock, asked = clock.Add(after), 0
		err := e.pass(t.Context())
		if got := testutil.ToFloat64(e.enforced); got != want || asked != asks || (err == nil) != (want == 1) {
			t.Errorf("%s: enforced %v, asked %d times, error %v; want %v and %d", what, got, asked, err, want, asks)
		}
	}
	step("the first turn", 0, 1, 1)
	step("a turn right after an answer", lookAgain, 1, 0)
	answer = errors.New("no answer")
	step("a configuration is gone, and nobody has asked yet", lookAgain, 1, 0)
	step("a minute later", probeAgain, 0, 1)
	step("and at each turn from then on", tryAgain, 0, 1)
	answer = nil
	step("it is back", tryAgain, 1, 1)
	stopping = errors.New("stopping")
	step("a replica that stops asks nothing", probeAgain, 0, 0)
}
