// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/cli"
	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/commands"
)

// completer is the name of a plugin's completions in kubectl.
const completer = "kubectl_complete-poundlock"

// version is the release, written by the linker (krew/release.go).
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := run(ctx, os.Args)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	typed := args[1:]
	if strings.TrimSuffix(filepath.Base(args[0]), ".exe") == completer {
		typed = append([]string{"__complete"}, typed...)
	}
	code, text := cli.Code(commands.Execute(ctx, cli.Options{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Env:       os.Getenv, Now: time.Now, Version: version,
	}, typed))
	if text != "" {
		fmt.Fprintln(os.Stderr, "error:", text)
	}
	return code
}
