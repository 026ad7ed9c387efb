// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/poundlock/poundlock/test/build/filelock"
)

// CacheEnv names the environment variable that moves the cache folder.
const CacheEnv = "POUNDLOCK_CACHE"

// entry is one folder of the cache. It is either whole or absent.
type entry struct {
	what string // what the entry is, in a sentence
	dir  string
	lock string
	make func(ctx context.Context, dir string, progress io.Writer) error
}

// get returns the verified folder. It makes the folder if it is absent or damaged.
func (e entry) get(ctx context.Context, progress io.Writer) (string, error) {
	l, err := filelock.Wait(ctx, e.lock, e.patience(progress))
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Release() }() // the lock ends with the process at the latest
	err = verify(e.dir)
	if err == nil {
		return e.dir, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(progress, "the cached build of %s in %s is damaged (%v): building it again\n", e.what, e.dir, err)
	}
	return e.dir, e.remake(ctx, progress)
}

func (e entry) remake(ctx context.Context, progress io.Writer) error {
	// The lock is ours, so whatever exists under this name was left by a build that was killed.
	next := e.dir + ".next"
	if err := errors.Join(os.RemoveAll(next), os.MkdirAll(next, 0o755)); err != nil {
		return err
	}
	defer os.RemoveAll(next)
	if err := e.make(ctx, next, progress); err != nil {
		return err
	}
	if err := writeManifest(next); err != nil {
		return err
	}
	if err := os.RemoveAll(e.dir); err != nil {
		return err
	}
	return os.Rename(next, e.dir)
}

// patience returns a function that reports, at once and then every few seconds, which process the caller waits for.
func (e entry) patience(progress io.Writer) func(*filelock.HeldError) {
	start, calls := time.Now(), 0
	return func(held *filelock.HeldError) {
		if calls%5 == 1 {
			fmt.Fprintf(progress, "process %d is building %s: waiting for it (%s)\n", held.PID, e.what, elapsed(start))
		}
		calls++
	}
}

const manifestName = "manifest.json"

// manifest has the SHA-256 of each regular file and the target of each link of an entry.
type manifest struct {
	Files map[string]string `json:"files"`
	Links map[string]string `json:"links"`
}

func writeManifest(dir string) error {
	m, err := take(dir)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestName), append(text, '\n'), 0o644)
}

// verify compares dir with its manifest. It returns fs.ErrNotExist if and only if dir is absent.
func verify(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return fmt.Errorf("%s cannot be read", manifestName)
	}
	var want manifest
	if err := json.Unmarshal(text, &want); err != nil || len(want.Files) == 0 {
		return fmt.Errorf("%s is not what was written", manifestName)
	}
	have, err := take(dir)
	if err != nil {
		return errors.New(err.Error())
	}
	return want.differs(have)
}

func (m manifest) differs(have manifest) error {
	for _, name := range sortedKeys(m.Files) {
		if have.Files[name] != m.Files[name] {
			return fmt.Errorf("%s has another SHA-256 than when it was built", name)
		}
	}
	for _, name := range sortedKeys(m.Links) {
		if have.Links[name] != m.Links[name] {
			return fmt.Errorf("%s is missing or links elsewhere", name)
		}
	}
	return nil
}

func take(dir string) (manifest, error) {
	m := manifest{Files: map[string]string{}, Links: map[string]string{}}
	items, err := os.ReadDir(dir)
	if err != nil {
		return m, err
	}
	for _, item := range items {
		path := filepath.Join(dir, item.Name())
		switch {
		case item.Name() == manifestName:
		case item.Type()&fs.ModeSymlink != 0:
			m.Links[item.Name()], err = os.Readlink(path)
		case item.Type().IsRegular():
			m.Files[item.Name()], err = hashFile(path)
		}
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
