// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// ExitError reports that a part of the control plane ended although nobody stopped it.
type ExitError struct {
	// Part is its name: etcd, kube-apiserver or kube-controller-manager.
	Part string
	// Log is the file with all of its output, Tail the last lines of that.
	Log, Tail string
	// Err is how the process ended.
	Err error

	full, portTaken bool // whether its log says that the disk is full, or that a port is taken
}

func (e *ExitError) Error() string {
	sentence := fmt.Sprintf("%s ended by itself (%v)", e.Part, e.Err)
	if e.full {
		sentence += ": the disk is full: free some space and start again"
	}
	return sentence + "; the end of " + e.Log + ":\n" + e.Tail
}

func (e *ExitError) Unwrap() error { return e.Err }

// process is one child. Its fields are set before done is closed, or atomic.
type process struct {
	name, log string
	before    int64 // the length of the log that earlier starts have written
	cmd       *exec.Cmd
	stopping  atomic.Bool
	done      chan struct{}
	exit      *ExitError // set when done is closed
}

// launch starts a child whose output is appended to its log. onExit is called when it ends without having been stopped.
func launch(s *spawner, name, bin, log string, args, env []string, onExit func(*ExitError)) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	info, err := out.Stat()
	if err != nil {
		return nil, err
	}
	p := &process{name: name, log: log, before: info.Size(), cmd: exec.Command(bin, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = out, out, append(inherited(os.Environ()), env...)
	if err := s.start(p.cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go p.watch(onExit)
	return p, nil
}

func (p *process) watch(onExit func(*ExitError)) {
	err := p.cmd.Wait()
	if err == nil {
		err = errors.New("exit status 0")
	}
	text := end(p.log, p.before)
	p.exit = &ExitError{Part: p.name, Log: p.log, Tail: tail(text), Err: err, full: strings.Contains(text, "no space left on device"),
		portTaken: strings.Contains(text, "address already in use")}
	close(p.done)
	if !p.stopping.Load() {
		onExit(p.exit)
	}
}

// stop asks the child to end, waits as long as patience, and kills it. If patience is 0, it kills the child at once.
func (p *process) stop(patience time.Duration) {
	p.stopping.Store(true)
	if patience > 0 {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
		select {
		case <-p.done:
			return
		case <-time.After(patience):
		}
	}
	_ = p.cmd.Process.Kill()
	<-p.done
}

// tail returns the lines of a log that say why its program ended: from the last panic or fatal error on, if there is one, else the very last lines.
func tail(text string) string {
	const most = 8
	lines := strings.Split(strings.TrimSpace(text), "\n")
	from := max(0, len(lines)-most)
	for i, line := range lines {
		if fatal(line) {
			from = i
		}
	}
	var out []string
	for _, line := range lines[from:min(len(lines), from+most)] {
		if strings.HasPrefix(line, "goroutine ") {
			break // stacks are for a person who reads the log
		}
		out = append(out, "  "+line[:min(len(line), 400)])
	}
	return strings.TrimRight(strings.Join(out, "\n"), " \n")
}

// fatal reports whether a line begins as the last messages of Go's runtime, etcd's logger and Kubernetes' commands do.
func fatal(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "Error: ") ||
		strings.Contains(line, `"level":"fatal"`) || strings.Contains(line, `"level":"panic"`)
}

// end returns the last 64 KiB of a log. It leaves out the first `before` bytes, which an earlier start has written. If it cannot read the log, it returns the
// error.
func end(path string, before int64) string {
	const most = 64 << 10
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil {
		_, _ = file.Seek(max(before, info.Size()-most), io.SeekStart)
	}
	text, _ := io.ReadAll(file)
	return string(text)
}

// inherited returns the environment without two things. One is the proxy settings: everything here is on loopback, and an API server with a proxy sends webhook
// calls to the proxy. The other is how often the caller collects garbage, because tests measure the memory of what they start.
func inherited(env []string) []string {
	var out []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasSuffix(strings.ToLower(name), "_proxy") && name != "GOGC" {
			out = append(out, entry)
		}
	}
	return out
}
