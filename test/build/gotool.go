// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// An interrupted go tool stops its compilers. A killed one leaves them running.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	// A workspace, or flags that are meant for the caller's own build (-mod=vendor, -race), must not change this build. Compilers whose garbage collection begins
	// only at a high limit take a fifth less processor time.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOGC=off", "GOMEMLIMIT=1536MiB")
	return cmd
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	var stderr strings.Builder
	cmd := goCommand(ctx, dir, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", failed(ctx, args, stderr.String(), err)
	}
	return strings.TrimSpace(string(out)), nil
}
