// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// FilesOptions say where the certificate is. Everything but Dir has a default.
type FilesOptions struct {
	// Dir is the folder with tls.crt and tls.key, in PEM. The folder may be created later.
	Dir string
	// Interval is how often the folder is read without a notification, in case the file system sends none; 10 s by default.
	Interval time.Duration
	// Quiet is how long the folder must be unchanged before it is read, so that a pair of files that is still being written is not read; 100 ms by default.
	Quiet time.Duration

	Clock   clock.PassiveClock
	Metrics *Metrics
	Log     logr.Logger
}

// Files serves the certificate in tls.crt and tls.key of a folder, and follows changes of these files. Kubelet replaces a whole generation of a mounted Secret
// by one rename of the link ..data. So the folder is watched, and not the files, and no replacement is missed. A pair that does not fit together, is cut off,
// or is not valid now is never served while a better one is loaded.
type Files struct {
	served
	o      FilesOptions
	failed atomic.Pointer[error]
}

// NewFiles returns a source with these options, or an error if they are invalid. The folder is read by Start.
func NewFiles(o FilesOptions) (*Files, error) {
	if o.Dir == "" {
		return nil, errors.New("the folder of the serving certificate is not set: set --cert-dir")
	}
	o.Interval = orDefault(o.Interval, 10*time.Second)
	o.Quiet = orDefault(o.Quiet, 100*time.Millisecond)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	return &Files{o: o}, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// Start reads the folder at once and then whenever it changes, until ctx is done.
func (f *Files) Start(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching %s: %w", f.o.Dir, err)
	}
	defer func() { _ = watcher.Close() }()
	f.load(watcher)
	wake := time.NewTimer(f.o.Interval)
	defer wake.Stop()
	var stirred time.Time // when the first change came that has not been read yet
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			if stirred.IsZero() {
				stirred = time.Now()
			}
			if time.Since(stirred) < 5*f.o.Quiet { // a folder that always changes is read nevertheless
				wake.Reset(f.o.Quiet)
			}
		case err := <-watcher.Errors: // such as an overflow: the next read by interval repairs what was missed
			f.o.Log.V(1).Info("Watching the folder of the serving certificate failed", "folder", f.o.Dir, "error", err)
		case <-wake.C:
			stirred = time.Time{}
			f.load(watcher)
			wake.Reset(f.o.Interval)
		}
	}
}

// load reads the folder once. It also adds the watch again, which costs nothing and finds a folder that was replaced.
func (f *Files) load(watcher *fsnotify.Watcher) {
	watchErr := watcher.Add(f.o.Dir)
	pair, err := f.read()
	if err == nil {
		err = f.usable(pair)
	}
	if err != nil {
		f.report(errors.Join(err, watchErr))
		return
	}
	f.report(nil)
	f.serve(pair)
}

// read reads both files from the same generation: if there is a link ..data, it is resolved once for both.
func (f *Files) read() (*tls.Certificate, error) {
	dir := f.o.Dir
	if real, err := filepath.EvalSymlinks(filepath.Join(dir, "..data", keyServing)); err == nil {
		dir = filepath.Dir(real)
	}
	chain, err := os.ReadFile(filepath.Join(dir, keyServing))
	if err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	key, err := os.ReadFile(filepath.Join(dir, keyServingKey))
	if err != nil {
		return nil, fmt.Errorf("reading the key of the serving certificate: %w", err)
	}
	pair, err := readPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("loading %s and %s of %s: %w", keyServing, keyServingKey, f.o.Dir, err)
	}
	return pair, nil
}

// usable returns an error for a certificate that is not valid now.
func (f *Files) usable(pair *tls.Certificate) error {
	if validAt(pair.Leaf, f.o.Clock.Now()) {
		return nil
	}
	return fmt.Errorf("the serving certificate in %s is only valid from %s to %s, and not now: replace the certificate", f.o.Dir,
		pair.Leaf.NotBefore.UTC().Format(time.RFC3339), pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
}

func (f *Files) serve(pair *tls.Certificate) {
	held := f.current.Load()
	if held != nil && slices.EqualFunc(held.Certificate, pair.Certificate, bytes.Equal) {
		return
	}
	f.current.Store(pair)
	f.o.Metrics.expires(certificateServing, pair.Leaf)
	f.o.Metrics.rotated(certificateServing)
	f.o.Log.Info("Serving another certificate", "folder", f.o.Dir, "serial", pair.Leaf.SerialNumber.Text(16), "expires", pair.Leaf.NotAfter)
}

// report stores the last outcome for Ready, and logs each failure once.
func (f *Files) report(err error) {
	if err != nil {
		f.o.Metrics.failed(reasonReload)
		if last := f.failed.Load(); last == nil || (*last).Error() != err.Error() {
			f.o.Log.Error(err, "Keeping the certificate in service", "folder", f.o.Dir)
		}
		f.failed.Store(&err)
	} else {
		f.failed.Store(nil)
	}
	f.o.Metrics.setReady(f.Ready(nil) == nil)
}

// Ready returns nil while a valid certificate is served, even if the folder cannot be read any more.
func (f *Files) Ready(*http.Request) error {
	held := f.current.Load()
	switch {
	case held != nil && validAt(held.Leaf, f.o.Clock.Now()):
		return nil
	case f.failed.Load() != nil:
		return *f.failed.Load()
	case held != nil:
		return f.usable(held)
	}
	return errNoCertificate
}
