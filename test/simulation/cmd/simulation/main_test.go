// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/poundlock/poundlock/machine/machinetest"
	"github.com/poundlock/poundlock/policies/authority"
)

// asCommand has the test's own binary be the command: a process of its own that can be killed.
const asCommand = "POUNDLOCK_TEST_AS_SIMULATION"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestArgumentsThatCannotBe(t *testing.T) {
	old := filepath.Join(t.TempDir(), "cloud.json")
	if err := os.WriteFile(old, []byte(`[{"ID":"i-1"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ args, want string }{
		"an address for everybody":  {"cloud --address=0.0.0.0:0", "is not on loopback"},
		"an address that is none":   {"cloud --address=here", "want HOST:PORT"},
		"a file that is none":       {"cloud --address=127.0.0.1:0 --file=" + old, "To start with an empty cloud, delete the folder of this file"},
		"no kubeconfig":             {"machine-api", "--kubeconfig is missing"},
		"a kubeconfig that is none": {"infrastructure --kubeconfig=" + filepath.Join(t.TempDir(), "none"), "reading --kubeconfig"},
		"namespaces that pair none": {"machine-api --kubeconfig=x --namespaces=a", "want two different names"},
		"a word too many":           {"cloud now", `unknown command "now"`},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command()
			cmd.SetArgs(strings.Fields(c.args))
			cmd.SetOut(io.Discard)
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestTheCloudServesUntilItIsStopped(t *testing.T) {
	file, address := filepath.Join(t.TempDir(), "cloud.json"), free(t)
	cmd := exec.Command(os.Args[0], "cloud", "--address="+address, "--file="+file, "--boot-time=0s")
	cmd.Env = append(os.Environ(), asCommand+"=yes")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cloud := machinetest.Dial(address)
	answers(t, address, true)
	i, err := cloud.As(authority.MachineAPI).Launch(t.Context(), machinetest.Machine{Name: "worker-1"}, machinetest.Order{Token: "uid-1"})
	if err != nil || i.State != machinetest.Running {
		t.Errorf("launched %v, %v", i, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("told to end, it ends with %v", err)
	}
	kept, err := machinetest.New(machinetest.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if calls, _ := kept.Ledger(t.Context()); len(calls) != 1 || calls[0].Instance != i.ID {
		t.Errorf("kept of the ledger: %v", calls)
	}
}

// The parent is a shell that ends at once: nothing but its name shows that to the cloud.
func TestAnOrphanEnds(t *testing.T) {
	address := free(t)
	shell := exec.Command("sh", "-c", fmt.Sprintf(`%q cloud --address=%s --parent=$$ & while ! read line; do :; done`, os.Args[0], address))
	shell.Env = append(os.Environ(), asCommand+"=yes")
	stdin, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	answers(t, address, true)
	if _, err := fmt.Fprintln(stdin, "end"); err != nil {
		t.Fatal(err)
	}
	if err := shell.Wait(); err != nil {
		t.Fatal(err)
	}
	answers(t, address, false)
}

func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func answers(t *testing.T, address string, want bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for reaches(ctx, address) != want {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting for http://%s to answer: %t", address, want)
		}
	}
}

func reaches(ctx context.Context, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return true
}
