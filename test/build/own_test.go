// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What is up to date is not linked again, and each caller has a program of its own.
func TestOwnLinksOnce(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(root, ".cache", "programs", "plane")
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first", "plane"), filepath.Join(dir, "second", "plane")
	if err := Own(t.Context(), "./test/build/cmd/plane", first, false); err != nil {
		t.Fatal(err)
	}
	size := sizeOf(t, linked)
	// What is behind a program's end does no harm, and a program that is linked again has nothing there.
	if err := os.Truncate(linked, size+1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Truncate(linked, size); err != nil {
			t.Error(err)
		}
	})
	if err := Own(t.Context(), "./test/build/cmd/plane", second, false); err != nil {
		t.Fatal(err)
	}
	if sizeOf(t, second) != size+1 {
		t.Error("the program was linked again")
	}
	if sizeOf(t, first) != size {
		t.Error("the first one's program is not its own")
	}
	if value, err := exec.CommandContext(t.Context(), second).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, value)
	}
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
