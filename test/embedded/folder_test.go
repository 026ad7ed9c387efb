// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poundlock/poundlock/test/build/filelock"
)

func TestSweepRemovesWhatAKilledProcessLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv(KeepEnv, "")
	folder := func(name string, age time.Duration) string {
		dir := filepath.Join(os.TempDir(), name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, when := filepath.Join(dir, lockName), time.Now().Add(-age)
		if err := os.WriteFile(lock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(lock, when, when); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	orphan, young, foreign := folder(tempPrefix+"orphan", time.Hour), folder(tempPrefix+"young", 0), folder("somebody-else", time.Hour)
	live := folder(tempPrefix+"live", 0)
	held, err := filelock.Try(filepath.Join(live, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(live, lockName), hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}

	sweep()

	for dir, want := range map[string]bool{orphan: false, young: true, foreign: true, live: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
}

func TestTheTailOfALogShowsWhyItEnded(t *testing.T) {
	for name, c := range map[string]struct{ log, want string }{
		"a panic, not its stack":          {"a\nb\npanic: no WAL\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:1\n", "  panic: no WAL"},
		"a command's error":               {"I1 starting\nError: unknown flag: --x\n", "  Error: unknown flag: --x"},
		"the last of several":             {"Error: first\nI1 again\nError: second\n", "  Error: second"},
		"a killed one has its last eight": {strings.Repeat("line\n", 20), strings.TrimSuffix(strings.Repeat("  line\n", 8), "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tail(c.log); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
