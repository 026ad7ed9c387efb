// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/test/embedded"
)

// acted is Poundlock on a stage: what was done to it, and what fails.
type acted struct {
	done                  []string
	missing               []string
	installFails, crashes error
}

func (a *acted) StopManager() error { a.done = append(a.done, "stopped"); return nil }

func (a *acted) InstallMissing(context.Context) ([]string, error) {
	a.done = append(a.done, "installed")
	return a.missing, a.installFails
}

func (a *acted) StartManager(context.Context, ...string) error {
	a.done = append(a.done, "started")
	return a.crashes
}

func (a *acted) LaunchManager() error {
	a.done = append(a.done, "launched")
	return a.crashes
}

func TestWhatIsTypedEndsNothing(t *testing.T) {
	for sentence, c := range map[string]struct {
		typed        string
		runs         bool
		on           acted
		runsThen     bool
		done, prints string
	}{
		"stop":                              {typed: "stop", runs: true, done: "stopped", prints: "type start"},
		"stop, twice":                       {typed: "stop"},
		"start":                             {typed: "start", runsThen: true, done: "installed started", prints: "Poundlock runs"},
		"start, twice":                      {typed: "start", runs: true, runsThen: true},
		"start after a cleanup":             {typed: "start", on: acted{missing: []string{"ValidatingWebhookConfiguration poundlock"}}, runsThen: true, done: "installed started", prints: "ValidatingWebhookConfiguration poundlock"},
		"start, and nothing can be applied": {typed: "start", on: acted{installFails: errors.New("no disk")}, done: "installed", prints: "no disk"},
		"start, and it is never ready":      {typed: "start", on: acted{crashes: errors.New("not ready")}, done: "installed started stopped", prints: "Type start to try again"},
		"something else":                    {typed: "help", runs: true, runsThen: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			var b strings.Builder
			k := keeper{poundlock: &c.on, out: &b, now: time.Now, runs: c.runs}
			if k.obey(t.Context(), c.typed); k.runs != c.runsThen {
				t.Errorf("it runs then: %t", k.runs)
			}
			if got := strings.Join(c.on.done, " "); got != c.done {
				t.Errorf("%q, want %q", got, c.done)
			}
			if (c.prints == "") != (b.Len() == 0) || !strings.Contains(b.String(), c.prints) {
				t.Errorf("it prints %q, want %q", b.String(), c.prints)
			}
		})
	}
}

func TestNextRestart(t *testing.T) {
	for sentence, c := range map[string]struct {
		ran   time.Duration
		quick int
		count int
		pause time.Duration
		again bool
	}{
		"it ran for long":                        {ran: time.Hour, pause: time.Second, again: true},
		"it ran as long as it takes to notice":   {ran: 30 * time.Second, quick: 4, pause: time.Second, again: true},
		"it ended soon":                          {ran: time.Second, count: 1, pause: 2 * time.Second, again: true},
		"it ended soon, four times in a row":     {ran: time.Second, quick: 3, count: 4, pause: 16 * time.Second, again: true},
		"it ended soon, too many times in a row": {ran: time.Second, quick: 4, count: 5, pause: 32 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			if count, pause, again := next(c.ran, c.quick); count != c.count || pause != c.pause || again != c.again {
				t.Errorf("%d, %s, %t; want %+v", count, pause, again, c)
			}
		})
	}
}

// gateChanged is how Poundlock ends when its feature gate changes.
var gateChanged = &embedded.ExitError{Part: "poundlock", Log: "logs/poundlock.log", Err: errors.New("exit status 1"),
	Tail: "  {\"level\":\"info\"}\n  poundlock: stopping, to start again in the new mode: the feature gate MachineAPIMigration is off"}

func TestPoundlockThatEndsByItselfIsRestarted(t *testing.T) {
	var b strings.Builder
	on, clock := acted{}, time.Now()
	k := keeper{poundlock: &on, out: &b, now: func() time.Time { return clock }, runs: true, started: clock}

	clock = clock.Add(time.Minute)
	if err := k.exited(gateChanged); err != nil || k.due == nil {
		t.Fatalf("%v, and it is not restarted", err)
	}
	if want := "to start again in the new mode: the feature gate MachineAPIMigration is off"; !strings.Contains(b.String(), want) {
		t.Errorf("%q lacks the reason %q", b.String(), want)
	}
	k.restart()
	if got := strings.Join(on.done, " "); got != "launched" || !k.runs || k.due != nil {
		t.Errorf("%q, runs %t", got, k.runs)
	}
	for i := 1; ; i++ {
		err := k.exited(gateChanged)
		if err == nil && i < mostQuick {
			k.restart()
			continue
		}
		if i != mostQuick || !strings.Contains(err.Error(), "logs/poundlock.log") || !strings.Contains(err.Error(), "in the new mode") {
			t.Errorf("the %dth quick end in a row: %v", i, err)
		}
		break
	}
}

func TestWhatIsTypedMeanwhile(t *testing.T) {
	for sentence, c := range map[string]struct {
		typed, done string
		runs, due   bool
	}{
		"stop, while it waits to be restarted":  {typed: "stop"},
		"start, while it waits to be restarted": {typed: "start", runs: true, due: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			on := acted{}
			k := keeper{poundlock: &on, out: io.Discard, now: time.Now, runs: true}
			if err := k.exited(gateChanged); err != nil {
				t.Fatal(err)
			}
			k.obey(t.Context(), c.typed)
			if got := strings.Join(on.done, " "); got != c.done || k.runs != c.runs || (k.due != nil) != c.due {
				t.Errorf("%q, runs %t, due %t", got, k.runs, k.due != nil)
			}
		})
	}
}

func TestStartThatFailedIsNotRestarted(t *testing.T) {
	k := keeper{poundlock: &acted{}, out: io.Discard, now: time.Now}
	if err := k.exited(gateChanged); err != nil || k.due != nil {
		t.Errorf("%v, due %t", err, k.due != nil)
	}
}

func TestReason(t *testing.T) {
	for sentence, c := range map[string]struct {
		tail, want string
	}{
		"its own sentence": {"  a line\n  poundlock: the port is taken", "the port is taken"},
		"a panic":          {"  panic: nil map", "exit status 2; the end of a.log:\n  panic: nil map"},
		"killed, after a sentence of an earlier line": {"  poundlock: one\n  another", "exit status 2; the end of a.log:\n  poundlock: one\n  another"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := reason(&embedded.ExitError{Log: "a.log", Err: errors.New("exit status 2"), Tail: c.tail}); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
