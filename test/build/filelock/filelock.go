// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// HeldError reports that another process (or another holder in this one) has the lock.
type HeldError struct {
	// Path is the lock file.
	Path string
	// PID is the holder's process id, 0 if it has not written it yet.
	PID int
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by process %d", e.Path, e.PID)
}

// Lock is a held lock. Release it once.
type Lock struct{ file *os.File }

// Try takes the lock at path, and creates the file. If somebody else has the lock, it returns a *HeldError at once.
func Try(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		file.Close()
		if errors.Is(err, errHeld) {
			return nil, &HeldError{Path: path, PID: holder(path)}
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return &Lock{file: file}, sign(file)
}

// Wait takes the lock. While somebody else has it, Wait calls waiting about once a second with the holder.
func Wait(ctx context.Context, path string, waiting func(*HeldError)) (*Lock, error) {
	for {
		l, err := Try(path)
		var held *HeldError
		if !errors.As(err, &held) {
			return l, err
		}
		waiting(held)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", held, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// Release releases the lock. It leaves the file, because removing it would let two holders in: one with the old file and one with a new one.
func (l *Lock) Release() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holder(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}
