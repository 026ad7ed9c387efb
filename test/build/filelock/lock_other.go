// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package filelock

import (
	"errors"
	"os"
)

var errHeld = errors.New("held")

func lock(*os.File) error {
	return errors.New("this operating system has no flock: use Linux, macOS or a BSD")
}
