// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const unreachable = `apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
`

// played runs a command of the program, and returns its exit code.
func played(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	cmd := root()
	cmd.SetArgs(args)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0, ""
	}
	return exitCode(err), err.Error()
}

func TestInstallExitCodes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(file, []byte("moon: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args     []string
		code     int
		contains string
	}{
		"an unknown flag":             {[]string{"--moon"}, 2, "--moon"},
		"an argument":                 {[]string{"moon"}, 2, "moon"},
		"a time that is none":         {[]string{"--resync=moon"}, 2, "--resync"},
		"no time":                     {[]string{"--resync=0"}, 2, "--resync must be longer than 0s"},
		"an unknown platform":         {[]string{"--enable-platform=Moon"}, 2, "--enable-platform"},
		"an unknown setting":          {[]string{"--config=" + file}, 2, `"moon" is not a setting`},
		"settings that are not there": {[]string{"--config=" + file + ".none"}, 2, "reading the settings"},
		"a kubeconfig of nobody":      {[]string{"--kubeconfig=" + file + ".none"}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := played(t, append([]string{"install"}, c.args...)...)
			if code != c.code || !strings.Contains(text, c.contains) || (c.code == 2) != strings.Contains(text, "see poundlock install --help") {
				t.Errorf("%d, %q; want %d, %q", code, text, c.code, c.contains)
			}
		})
	}
}

// An address that is taken is found before anything is asked of the API server: without one, the caches would be waited for.
func TestInstallFindsAnAddressThatIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(unreachable), 0o600); err != nil {
		t.Fatal(err)
	}
	code, text := played(t, "install", "--kubeconfig="+kubeconfig, "--health-bind-address=0", "--metrics-bind-address="+taken.Addr().String())
	if code != 1 || !strings.Contains(text, "--metrics-bind-address") || !strings.Contains(text, taken.Addr().String()) {
		t.Errorf("%d, %q", code, text)
	}
}
