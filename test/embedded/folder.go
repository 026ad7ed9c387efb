// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/poundlock/poundlock/test/build/filelock"
)

// KeepEnv names an environment variable. If it is set, temporary folders are kept after Stop, so that somebody can look at their logs.
const KeepEnv = "POUNDLOCK_KEEP"

const tempPrefix = "poundlock-plane-"

func folder(asked string) (string, error) {
	if asked == "" {
		sweep()
		return os.MkdirTemp("", tempPrefix)
	}
	dir, err := filepath.Abs(asked)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// sweep removes temporary folders whose process was killed before it could remove them. That a folder's lock is free proves that. The minute is for a folder
// that somebody has made and not yet locked.
func sweep() {
	if os.Getenv(KeepEnv) != "" {
		return
	}
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, lockName))
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if lock, err := filelock.Try(filepath.Join(dir, lockName)); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Release()
		}
	}
}

const lockName = "lock"

func (p *Plane) temporary() bool { return p.options.Dir == "" }

func (p *Plane) discard() error {
	if !p.temporary() {
		return nil
	}
	if os.Getenv(KeepEnv) != "" {
		fmt.Fprintf(p.options.Out, "kept %s, because %s is set\n", p.dir, KeepEnv)
		return nil
	}
	return os.RemoveAll(p.dir)
}
