// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const fakeBinary = "plane"

// fake is an entry whose build takes no time and is counted.
func fake(t *testing.T) (entry, *atomic.Int32) {
	dir, built := t.TempDir(), &atomic.Int32{}
	return entry{what: "the program", dir: filepath.Join(dir, "e"), lock: filepath.Join(dir, "e.lock"),
		make: func(_ context.Context, dir string, _ io.Writer) error {
			built.Add(1)
			return errors.Join(os.WriteFile(filepath.Join(dir, fakeBinary), []byte("program"), 0o755), os.Symlink(fakeBinary, filepath.Join(dir, Etcd)))
		}}, built
}

func TestEntry(t *testing.T) {
	for name, c := range map[string]struct {
		between  func(dir string) error
		builds   int32
		contains string
	}{
		"a whole one is used again": {func(string) error { return nil }, 1, ""},
		"a changed binary is built again": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, fakeBinary), []byte("progran"), 0o755)
		}, 2, "plane has another SHA-256"},
		"a lost binary is built again":                     {func(dir string) error { return os.Remove(filepath.Join(dir, fakeBinary)) }, 2, "plane has another SHA-256"},
		"a lost link is built again":                       {func(dir string) error { return os.Remove(filepath.Join(dir, Etcd)) }, 2, "etcd is missing or links elsewhere"},
		"a lost manifest is built again":                   {func(dir string) error { return os.Remove(filepath.Join(dir, manifestName)) }, 2, "manifest.json cannot be read"},
		"an empty manifest is built again":                 {func(dir string) error { return os.Truncate(filepath.Join(dir, manifestName), 0) }, 2, "manifest.json is not what was written"},
		"an absent one is built, without a word of damage": {os.RemoveAll, 2, ""},
		"what a killed build left is in nobody's way": {func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Join(dir+".next", fakeBinary), 0o755))
		}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, built := fake(t)
			first, err := e.get(t.Context(), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.between(first); err != nil {
				t.Fatal(err)
			}
			var value strings.Builder
			second, err := e.get(t.Context(), &value)
			if err != nil || second != first {
				t.Fatalf("%s, %v", second, err)
			}
			if err := verify(second); err != nil {
				t.Error(err)
			}
			if got := built.Load(); got != c.builds {
				t.Errorf("built %d times, want %d", got, c.builds)
			}
			if damaged := strings.Contains(value.String(), "damaged"); damaged != (c.contains != "") || !strings.Contains(value.String(), c.contains) {
				t.Errorf("said %q, want %q", value.String(), c.contains)
			}
		})
	}
}

func TestFourAtOnceBuildOnce(t *testing.T) {
	e, built := fake(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := e.get(t.Context(), io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := built.Load(); got != 1 {
		t.Errorf("built %d times", got)
	}
}

func TestAFailedBuildLeavesNothing(t *testing.T) {
	e, _ := fake(t)
	e.make = func(context.Context, string, io.Writer) error { return errors.New("broken") }
	if _, err := e.get(t.Context(), io.Discard); err == nil {
		t.Fatal("no error")
	}
	left, err := filepath.Glob(e.dir + "*")
	if err != nil || len(left) != 1 || left[0] != e.lock {
		t.Errorf("left %v, %v", left, err)
	}
}
