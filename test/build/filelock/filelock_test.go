// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/poundlock/poundlock/test/build/filelock"
)

func TestASecondHolderIsRefusedWithTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = filelock.Try(path)
	var held *filelock.HeldError
	if !errors.As(err, &held) || held.PID != os.Getpid() || held.Path != path {
		t.Fatalf("got %v", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := filelock.Try(path)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}

func TestWaitTakesTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := filelock.Wait(t.Context(), path, func(*filelock.HeldError) {
		if first != nil {
			first.Release()
			first = nil
		}
	})
	if err != nil || first != nil {
		t.Fatalf("err %v, first %v", err, first)
	}
	second.Release()
}

func TestWaitEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := filelock.Wait(ctx, path, func(*filelock.HeldError) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
