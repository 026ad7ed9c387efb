// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/poundlock/poundlock/test/embedded"
	"github.com/poundlock/poundlock/test/testcluster"
)

// poundlock is what is stopped and started on a stage.
type poundlock interface {
	StopManager() error
	// InstallMissing applies what somebody has removed, such as `kubectl poundlock cleanup`, and returns what that was.
	InstallMissing(ctx context.Context) ([]string, error)
	// StartManager returns when Poundlock answers, LaunchManager at once.
	StartManager(ctx context.Context, flags ...string) error
	LaunchManager() error
}

// wait lasts until ctx ends or something breaks. Meanwhile a person may stop Poundlock and start it again, and what ends by itself is restarted.
func wait(ctx context.Context, out io.Writer, stage *testcluster.Stage, o testcluster.Options, typed <-chan string) error {
	k := keeper{poundlock: stage, out: out, now: time.Now, runs: !o.WithoutManager}
	k.started = k.now()
	ends := stage.Outlive()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-stage.Broken:
			fmt.Fprint(out, ended(stage.Cause(), short(o.Dir)))
			return stage.Cause()
		case exit := <-ends:
			if err := k.exited(exit); err != nil {
				fmt.Fprint(out, ended(err, short(o.Dir)))
				return err
			}
		case <-k.due:
			k.restart()
		case line := <-typed:
			if !o.Bare && !o.Install { // else there is none
				k.obey(ctx, line)
			}
		}
	}
}

// ended says, before all else stops, what has ended by itself. Nothing but Poundlock is restarted: a stage whose parts die is no stage to judge Poundlock by.
func ended(cause error, dir string) string {
	what := cause.Error()
	if part := (*embedded.ExitError)(nil); errors.As(cause, &part) {
		what = fmt.Sprintf("%s, a part of the stage, has ended: %v. Its log is %s", part.Part, part.Err, part.Log)
	}
	return fmt.Sprintf("\n%s.\nThe whole stage stops because of that. What is there stays in %s: the same command goes on from it.\n", what, dir)
}

// keeper starts and stops Poundlock as a person types, and restarts it when it ends by itself, as the kubelet does. Poundlock counts on that: when the
// feature gate or OpenShift's own migration changes, it ends.
type keeper struct {
	poundlock
	out io.Writer
	now func() time.Time

	// runs: it is to run; due is not nil while it waits to be restarted.
	runs bool
	due  <-chan time.Time
	// started is when it was last started, quick how many times in a row it has ended soon after that.
	started time.Time
	quick   int
}

// A process that ends soon after its start does so again: the wait before the next start doubles, and after so many the stage ends.
const (
	soon      = 20 * time.Second // less than Poundlock takes to notice a change of its feature gate
	mostQuick = 5
)

// next decides about a Poundlock that ended by itself after it ran for so long, when it had already ended soon so many times in a row. It returns the new
// count and how long to wait before the restart; again is false where there is none.
func next(ran time.Duration, quick int) (count int, pause time.Duration, again bool) {
	if ran >= soon {
		return 0, time.Second, true
	}
	quick++
	return quick, time.Second << quick, quick < mostQuick
}

// exited has Poundlock restarted, or returns why that is no use.
func (k *keeper) exited(exit *embedded.ExitError) error {
	if !k.runs {
		return nil // a start that was typed has failed, and its error was printed
	}
	count, pause, again := next(k.now().Sub(k.started), k.quick)
	if !again {
		return fmt.Errorf("poundlock ended %d times in a row, each within %.0f s of its start: %w", count, soon.Seconds(), exit)
	}
	k.quick, k.due = count, time.After(pause)
	fmt.Fprintf(k.out, "Poundlock has ended by itself, and is restarted in %.0f s, as a Deployment's pod would be: %s\n", pause.Seconds(), reason(exit))
	return nil
}

// reason is the sentence with which Poundlock ended, or how it ended and its last lines where there is none.
func reason(exit *embedded.ExitError) string {
	last := exit.Tail[strings.LastIndex(exit.Tail, "\n")+1:]
	if text, ok := strings.CutPrefix(strings.TrimSpace(last), "poundlock: "); ok {
		return text
	}
	return fmt.Sprintf("%v; the end of %s:\n%s", exit.Err, exit.Log, exit.Tail)
}

// restart starts Poundlock once its wait is over.
func (k *keeper) restart() {
	k.due = nil
	if err := k.LaunchManager(); err != nil {
		fmt.Fprintf(k.out, "Poundlock was not restarted: %v\nType start to try again; all else goes on\n", err)
		k.runs = false
		return
	}
	k.started = k.now()
	fmt.Fprintln(k.out, "Poundlock is restarted")
}

// obey does what was typed. What fails is printed, and ends nothing: the rest of the stage goes on.
func (k *keeper) obey(ctx context.Context, line string) {
	switch {
	case line == "stop" && k.runs:
		if k.due == nil { // else it has ended already
			if err := k.StopManager(); err != nil {
				fmt.Fprintf(k.out, "Poundlock was not stopped: %v. Type stop to try again\n", err)
				return
			}
		}
		k.runs, k.due = false, nil
		fmt.Fprintln(k.out, "Poundlock is stopped, as by a crash; type start to start it again")
	case line == "start" && !k.runs:
		k.started, k.quick = k.now(), 0
		if err := start(ctx, k.out, k); err != nil {
			fmt.Fprintf(k.out, "Poundlock was not started: %v\nType start to try again; all else goes on\n", err)
			return
		}
		k.runs = true
		fmt.Fprintln(k.out, "Poundlock runs")
	}
}

// start installs first what is missing: without its webhook configurations the manager is never ready.
func start(ctx context.Context, out io.Writer, p poundlock) error {
	applied, err := p.InstallMissing(ctx)
	if len(applied) > 0 {
		fmt.Fprintf(out, "applied again %d of Poundlock's manifests that were removed, such as %s\n", len(applied), applied[0])
	}
	if err != nil {
		return err
	}
	if err := p.StartManager(ctx); err != nil {
		return errors.Join(err, p.StopManager()) // or the next start would find it running
	}
	return nil
}
