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

// poundlock is the part of a stage that the keeper stops and starts.
type poundlock interface {
	StopManager() error
	// InstallMissing applies those of Poundlock's manifests that somebody has removed, for example with `kubectl poundlock cleanup`. It returns which it applied.
	InstallMissing(ctx context.Context) ([]string, error)
	// StartManager returns when Poundlock answers. LaunchManager returns at once.
	StartManager(ctx context.Context, flags ...string) error
	LaunchManager() error
}

// wait returns when ctx ends or something breaks. Meanwhile a person may stop and start Poundlock, and Poundlock is restarted if it ends by itself.
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
			if !o.Bare && !o.Install { // else there is no Poundlock
				k.obey(ctx, line)
			}
		}
	}
}

// ended returns the message about a part that has ended by itself. It is printed before everything else stops. Only Poundlock is restarted: if other parts end,
// the stage is no longer fit to judge Poundlock by.
func ended(cause error, dir string) string {
	what := cause.Error()
	if part := (*embedded.ExitError)(nil); errors.As(cause, &part) {
		what = fmt.Sprintf("%s, a part of the stage, has ended: %v. Its log is %s", part.Part, part.Err, part.Log)
	}
	return fmt.Sprintf("\n%s.\nThe whole stage stops because of that. What is there stays in %s: the same command goes on from it.\n", what, dir)
}

// keeper starts and stops Poundlock when a person types that. It restarts Poundlock when that ends by itself, as the kubelet does. Poundlock relies on a
// restart: it ends when the feature gate or OpenShift's own migration changes.
type keeper struct {
	poundlock
	out io.Writer
	now func() time.Time

	// runs: Poundlock is meant to run. due is not nil while Poundlock waits to be restarted.
	runs bool
	due  <-chan time.Time
	// started is when Poundlock was last started. quick is how many times in a row it has ended soon after its start.
	started time.Time
	quick   int
}

// If Poundlock ends soon after its start, it will probably do that again. The wait before the next start doubles each time, and after mostQuick times the stage
// ends.
const (
	soon      = 20 * time.Second // less than Poundlock takes to notice a change of its feature gate
	mostQuick = 5
)

// next decides what follows when Poundlock has ended by itself. ran is how long it ran, quick how many times in a row it had already ended soon. It returns the
// new count, and how long to wait before the restart. again is false if there is no restart.
func next(ran time.Duration, quick int) (count int, pause time.Duration, again bool) {
	if ran >= soon {
		return 0, time.Second, true
	}
	quick++
	return quick, time.Second << quick, quick < mostQuick
}

// exited has Poundlock restarted, or returns an error that says why a restart is of no use.
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

// reason returns the error message with which Poundlock ended. If its log has none, it returns how Poundlock ended, and the last lines of the log.
func reason(exit *embedded.ExitError) string {
	last := exit.Tail[strings.LastIndex(exit.Tail, "\n")+1:]
	if text, ok := strings.CutPrefix(strings.TrimSpace(last), "poundlock: "); ok {
		return text
	}
	return fmt.Sprintf("%v; the end of %s:\n%s", exit.Err, exit.Log, exit.Tail)
}

// restart starts Poundlock after its wait.
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

// obey carries out a typed line. An error is printed and ends nothing: the rest of the stage goes on.
func (k *keeper) obey(ctx context.Context, line string) {
	switch {
	case line == "stop" && k.runs:
		if k.due == nil { // else it has already ended
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

// start first installs the manifests that are missing. The manager is never ready without its webhook configurations.
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
