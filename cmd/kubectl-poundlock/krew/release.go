// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// This program builds the plugin for all platforms and writes archives and manifest into bin/krew:
//
//	go run ./cmd/kubectl-poundlock/krew/release.go -version v0.1.0
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/krew"
	"github.com/poundlock/poundlock/internal/licences"
)

func main() {
	version := flag.String("version", "", "the release, such as v0.1.0")
	dir := flag.String("dir", filepath.Join("bin", "krew"), "write the archives to this folder")
	platforms := flag.String("platforms", "", "build only for these platforms (OS/ARCH), separated by commas; for all platforms if empty")
	flag.Parse()
	if err := release(*version, *dir, *platforms); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

func release(version, dir, platforms string) error {
	if version == "" {
		return errors.New("the release's version is missing: make krew VERSION=v0.1.0")
	}
	targets := krew.Targets()
	if platforms != "" {
		targets = nil
		for _, text := range strings.Split(platforms, ",") {
			t, err := krew.ParseTarget(text)
			if err != nil {
				return err
			}
			targets = append(targets, t)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sums := map[krew.Target]string{}
	for _, t := range targets {
		sum, err := build(t, version, dir)
		if err != nil {
			return err
		}
		sums[t] = sum
		fmt.Println(sum, filepath.Join(dir, t.Archive(version)))
	}
	manifest, err := krew.Manifest(version, sums)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "poundlock.yaml"), manifest, 0o644)
}

func build(t krew.Target, version, dir string) (string, error) {
	binary := filepath.Join(dir, t.OS+"-"+t.Arch, t.Binary())
	const stamp = "main.version="
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X "+stamp+version, "-o", binary, "./cmd/kubectl-poundlock")
	cmd.Env = append(os.Environ(), "GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building for %s/%s: %w", t.OS, t.Arch, err)
	}
	files, err := licences.Of(context.Background(), ".", t.OS, t.Arch, "./cmd/kubectl-poundlock")
	if err != nil {
		return "", err
	}
	compiledIn := filepath.Join(filepath.Dir(binary), krew.Licences)
	if err := os.WriteFile(compiledIn, licences.Text(files), 0o644); err != nil {
		return "", err
	}
	return krew.Pack(dir, version, t, binary, "LICENSE", "NOTICE", compiledIn)
}
