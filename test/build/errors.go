// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// goError is a run of the go tool that failed, with its output.
type goError struct {
	args   []string
	output string
	err    error
}

// failed returns a goError. If the run was stopped, the error is the reason for that, and not how the run ended.
func failed(ctx context.Context, args []string, text string, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &goError{args: args, output: text, err: err}
}

func (e *goError) Error() string {
	text := fmt.Sprintf("go %s: %v", strings.Join(e.args, " "), e.err)
	if e.output != "" {
		text += ":\n" + tail(e.output, 12)
	}
	return text
}

func (e *goError) Unwrap() error { return e.err }

// inWords returns an error with a sentence that says what a person can do, if they can do something. where is the folder that was written to.
func inWords(doing string, err error, where string) error {
	text := ""
	var run *goError
	if errors.As(err, &run) {
		text = run.output
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s was stopped: %w", doing, err)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%s needs the go tool, and there is none in PATH: install Go 1.26 or newer (https://go.dev/dl): %w", doing, err)
	case errors.Is(err, syscall.ENOSPC), strings.Contains(text, "no space left on device"):
		return fmt.Errorf("%s ran out of disk space: it needs 200 MB in %s (moved by %s) "+
			"and about 4 GiB in Go's build and module caches (moved by GOCACHE, GOMODCACHE): %w",
			doing, where, CacheEnv, err)
	case unreachable(text):
		return fmt.Errorf("%s could not download a Go module: check the network, HTTPS_PROXY and GOPROXY (go env GOPROXY): %w", doing, err)
	case strings.Contains(text, "signal: killed"):
		return fmt.Errorf("%s was killed, as a rule for want of memory: it needs about 2.5 GiB: %w", doing, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

// unreachable reports whether the text is one of the go command's messages that a module could not be downloaded. None of them is a typed error.
func unreachable(text string) bool {
	for _, sign := range []string{"dial tcp", "module lookup disabled", "i/o timeout", "no such host", "proxyconnect", "connection refused", "404 Not Found",
		"410 Gone", "502 Bad Gateway", "TLS handshake"} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
