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
	// Log is the file with all that it said, Tail the last lines of it.
	Log, Tail string
	// Err is how it ended.
	Err error

	full, portTaken bool // what its log says of the disk and of a port
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
	before    int64 // how long the log was, of earlier starts
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

// stop asks the child to end, waits as long as patience, and kills it. No patience kills at once.
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

// tail is the lines of a log that tell why its program ended: from the last panic or fatal error on, if there is one, else the very last.
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
			break // stacks are for the log's reader
		}
		out = append(out, "  "+line[:min(len(line), 400)])
	}
	return strings.TrimRight(strings.Join(out, "\n"), " \n")
}

// fatal knows how Go's runtime, etcd's logger and Kubernetes' commands begin their last words.
func fatal(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "Error: ") ||
		strings.Contains(line, `"level":"fatal"`) || strings.Contains(line, `"level":"panic"`)
}

// end reads the last 64 KiB of a log behind its first bytes, which an earlier start has written, or says why it cannot.
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

// inherited drops the proxy settings, since everything here is on loopback, and an API server with a proxy sends webhook calls there; and how often the caller
// collects garbage, since tests measure the memory of what they start.
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
