// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// This program prints the licences of what is compiled into packages:
//
//	go run internal/licences/print.go linux amd64 ./cmd/poundlock
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/poundlock/poundlock/internal/licences"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "licences: want GOOS GOARCH PACKAGE…")
		os.Exit(2)
	}
	files, err := licences.Of(context.Background(), ".", os.Args[1], os.Args[2], os.Args[3:]...)
	if err == nil {
		_, err = os.Stdout.Write(licences.Text(files))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}
