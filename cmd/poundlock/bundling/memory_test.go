// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// memoryOf is an environment variable with the arguments of a command whose memory is measured, as JSON.
const memoryOf = "POUNDLOCK_TEST_MEMORY_OF"

// The command stays below 150 MB with the core provider. A process of its own does nothing else, and Linux counts the most memory that it had.
func TestBundleMemory(t *testing.T) {
	if typed := os.Getenv(memoryOf); typed != "" {
		bundleAndTell(t, typed)
		return
	}
	if _, err := os.Stat("/proc/self/status"); err != nil || testing.Short() || raced() {
		t.Skip("needs Linux, some seconds, and no race detector, which has memory of its own")
	}
	const most = 150_000_000 / 1024 // kB
	core := realProviders()[0]
	args, err := json.Marshal(core.args(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBundleMemory$")
	child.Env = append(os.Environ(), memoryOf+"="+string(args))
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, rest, _ := strings.Cut(string(out), "VmHWM:")
	var kilobytes int
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if t.Logf("%s takes %d kB", core.file, kilobytes); kilobytes > most {
		t.Errorf("%s takes %d kB of memory, want %d at most", core.file, kilobytes, most)
	}
}

func bundleAndTell(t *testing.T, typed string) {
	var args []string
	if err := json.Unmarshal([]byte(typed), &args); err != nil {
		t.Fatal(err)
	}
	cmd := Command()
	cmd.SetOut(io.Discard)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.Write(status)
}

func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
