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

// ExitError says that a part of the control plane ended although nobody stopped it.
type ExitError struct {
	// Part is its name: etcd, kube-apiserver or kube-controller-manager.
	Part string
	// Log is the file with all that it said, Tail the last lines of it.
	Log, Tail string
	// Err is how it ended.
	Err error
}

func (e *ExitError) Error() string {
	sentence := fmt.Sprintf("%s ended by itself (%v)", e.Part, e.Err)
	if e.full() {
		sentence += ": the disk is full: free some space and start again"
	}
	return sentence + "; the end of " + e.Log + ":\n" + e.Tail
}

func (e *ExitError) Unwrap() error { return e.Err }

func (e *ExitError) full() bool { return strings.Contains(e.Tail, "no space left on device") }

func (e *ExitError) portTaken() bool { return strings.Contains(e.Tail, "address already in use") }

// process is one child. Its fields are set before done is closed, or atomic.
type process struct {
	name, log string
	cmd       *exec.Cmd
	stopping  atomic.Bool
	done      chan struct{}
	exit      *ExitError // set when done is closed
}

// launch starts a child whose output is appended to its log. onExit is told when it ends without having been stopped.
func launch(s *spawner, name, bin, log string, args []string, onExit func(*ExitError)) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &process{name: name, log: log, cmd: exec.Command(bin, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = out, out, withoutProxy(os.Environ())
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
	p.exit = &ExitError{Part: p.name, Log: p.log, Tail: tail(p.log), Err: err}
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

// tail is the last lines of a log, cut to what fits a screen.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > 8<<10 {
		_, _ = file.Seek(-8<<10, io.SeekEnd)
	}
	text, _ := io.ReadAll(file)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-8):]
	for i, line := range lines {
		lines[i] = "  " + line[:min(len(line), 400)]
	}
	return strings.Join(lines, "\n")
}

// withoutProxy drops the proxy settings: everything here is on loopback, and an API server with a proxy sends webhook calls there.
func withoutProxy(env []string) []string {
	var out []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			out = append(out, entry)
		}
	}
	return out
}
