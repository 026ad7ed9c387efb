// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// another is a second object of a small provider.
const another = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: openshift-cluster-api}\n"

// fullDiskFor is an environment variable with the arguments of a command that has no room for its second file, as JSON.
const fullDiskFor = "POUNDLOCK_TEST_FULL_DISK_FOR"

// A disk that is full at the second file leaves the folder as it was. A process of its own has the limit: the tests' own process writes files, too.
func TestBundleOnAFullDisk(t *testing.T) {
	const room = 64 << 10 // bytes
	if typed := os.Getenv(fullDiskFor); typed != "" {
		bundleWithRoom(t, room, typed)
	}
	dir, out := small(t), t.TempDir()
	args := argsOf(dir, "--out", out, "--format", "gzip")
	if _, _, err := runBundle(t, args...); err != nil {
		t.Fatal(err)
	}
	large := account + another + "data: {k: \"" + strings.Repeat("x", 2*room) + "\"}\n"
	if err := os.WriteFile(filepath.Join(dir, "config", "a.yaml"), []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}
	before := contents(t, out)
	typed, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBundleOnAFullDisk$")
	child.Env = append(os.Environ(), fullDiskFor+"="+string(typed))
	value, err := child.CombinedOutput()
	if second := filepath.Join(plainDir, "infrastructure-aws.yaml"); err == nil || !strings.Contains(string(value), second) {
		t.Errorf("%v, %s; want a refusal that names %s", err, value, second)
	}
	if diff := cmp.Diff(before, contents(t, out)); diff != "" {
		t.Error(diff)
	}
}

// bundleWithRoom has each write of this process to a file beyond a size fail, and ends it.
func bundleWithRoom(t *testing.T, size uint64, typed string) {
	t.Helper()
	var args []string
	if err := json.Unmarshal([]byte(typed), &args); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: size}); err != nil {
		t.Fatal(err)
	}
	_, code, err := runBundle(t, args...)
	fmt.Println(err)
	os.Exit(code)
}
