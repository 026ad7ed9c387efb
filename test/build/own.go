// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/poundlock/poundlock/test/build/filelock"
)

// Own builds one of this checkout's programs ("./cmd/poundlock") and puts it at the path to, with the race detector if race is set.
//
// The go tool caches what it compiles, but not what it links. Linking a program of this size takes 15 s of processor time. But the go tool does not link again
// if the program in the output path is up to date. So it links the programs of a checkout in one folder, and each stage takes a copy. A build for another stage
// cannot change that copy.
func Own(ctx context.Context, program, to string, race bool) error {
	return own(ctx, program, race, func(built string) error { return copyProgram(built, to) })
}

// Link builds a program as Own does, and leaves it at the path where Own will find it.
func Link(ctx context.Context, program string, race bool) error {
	return own(ctx, program, race, func(string) error { return nil })
}

func own(ctx context.Context, program string, race bool, done func(built string) error) error {
	root, err := Root()
	if err != nil {
		return err
	}
	dir, flags := filepath.Join(root, ".cache", "programs"), "-s -w"
	if runtime.GOOS == "linux" {
		flags += " -linkmode=internal" // as the go tool builds tests: see the Makefile
	}
	args := []string{"build", "-ldflags=" + flags}
	if race {
		dir, args = dir+"-race", append(args, "-race")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("building %s: %w", program, err)
	}
	built := filepath.Join(dir, filepath.Base(program))
	lock, err := filelock.Wait(ctx, built+".lock", func(*filelock.HeldError) {})
	if err != nil {
		return fmt.Errorf("building %s: %w", program, err)
	}
	output, err := goCommand(ctx, root, append(args, "-o", built, program)...).CombinedOutput()
	if err == nil {
		err = done(built)
	}
	if err = errors.Join(err, lock.Release()); err != nil {
		return fmt.Errorf("building %s: %w:\n%s", program, err, output)
	}
	return nil
}

// copyProgram copies a program, and lets no process be started meanwhile. A child that starts in between would have the file open for writing, and a program
// that is open for writing cannot be started.
func copyProgram(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
