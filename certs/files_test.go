// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/poundlock/poundlock/test/stories"
)

// folder is a mounted Secret.
type folder struct {
	t   *testing.T
	dir string
	n   int
}

// swap publishes a generation the way kubelet does: a new folder, then one rename of the link ..data.
func (f *folder) swap(pair *tls.Certificate) {
	f.t.Helper()
	f.n++
	generation := filepath.Join(f.dir, fmt.Sprintf("..generation-%d", f.n))
	must(f.t, os.Mkdir(generation, 0o755))
	f.put(generation, pair)
	must(f.t, os.Symlink(filepath.Base(generation), filepath.Join(f.dir, "..data_tmp")))
	must(f.t, os.Rename(filepath.Join(f.dir, "..data_tmp"), filepath.Join(f.dir, "..data")))
	for _, name := range []string{keyServing, keyServingKey} {
		if _, err := os.Lstat(filepath.Join(f.dir, name)); os.IsNotExist(err) {
			must(f.t, os.Symlink(filepath.Join("..data", name), filepath.Join(f.dir, name)))
		}
	}
	if f.n > 1 {
		must(f.t, os.RemoveAll(filepath.Join(f.dir, fmt.Sprintf("..generation-%d", f.n-1))))
	}
}

// put writes both files in place, one after the other.
func (f *folder) put(dir string, pair *tls.Certificate) {
	f.t.Helper()
	chain, key := files(f.t, pair)
	must(f.t, os.WriteFile(filepath.Join(dir, keyServing), chain, 0o600))
	must(f.t, os.WriteFile(filepath.Join(dir, keyServingKey), key, 0o600))
}

func files(t *testing.T, pair *tls.Certificate) (chain, key []byte) {
	t.Helper()
	key, err := encodeKey(pair.PrivateKey)
	must(t, err)
	var certs []*x509.Certificate
	for _, der := range pair.Certificate {
		cert, err := x509.ParseCertificate(der)
		must(t, err)
		certs = append(certs, cert)
	}
	return encodeCertificates(certs...), key
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually polls until the state is there.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

func startFiles(t *testing.T, dir string, clock *clocktesting.FakePassiveClock) *Files {
	t.Helper()
	source, err := NewFiles(FilesOptions{Dir: dir, Clock: clock, Interval: 50 * time.Millisecond, Quiet: 5 * time.Millisecond})
	must(t, err)
	run(t, source)
	return source
}

// run starts a source, and stops it when the test ends or stop is called.
func run(t *testing.T, source Source) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- source.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func serves(source Source, pair *tls.Certificate) func() bool {
	return func() bool {
		held, err := source.GetCertificate(nil)
		return err == nil && held.Leaf.Equal(pair.Leaf)
	}
}

func TestFilesFollowTheFolder(t *testing.T) {
	ca := newCA(t, ourName, epoch)
	first, second, third := signed(t, ca, ourNames, epoch), signed(t, ca, ourNames, epoch), signed(t, ca, ourNames, epoch)
	mount := &folder{t: t, dir: filepath.Join(t.TempDir(), "later")}
	source := startFiles(t, mount.dir, clocktesting.NewFakePassiveClock(epoch))
	eventually(t, "a sentence about the missing folder", func() bool {
		err := source.Ready(nil)
		return err != nil && strings.Contains(err.Error(), mount.dir)
	})
	if _, err := source.GetCertificate(nil); err == nil {
		t.Error("a certificate from nowhere")
	}

	must(t, os.Mkdir(mount.dir, 0o755))
	mount.swap(first)
	eventually(t, "the first generation is served", serves(source, first))
	if err := source.Ready(nil); err != nil {
		t.Error(err)
	}
	mount.swap(second)
	eventually(t, "the second generation is served", serves(source, second))
	mount.put(mount.dir, third)
	eventually(t, "a pair written in place is served", serves(source, third))
	if got := testutil.ToFloat64(source.o.Metrics.expiry.WithLabelValues(certificateServing)); got != float64(third.Leaf.NotAfter.Unix()) {
		t.Errorf("expiry metric %v, certificate until %v", got, third.Leaf.NotAfter.Unix())
	}
	if got := testutil.ToFloat64(source.o.Metrics.rotations.WithLabelValues(certificateServing)); got != 3 {
		t.Errorf("%v rotations counted, 3 seen", got)
	}
}

func TestFilesKeepTheLastGoodPair(t *testing.T) {
	ca := newCA(t, ourName, epoch)
	good, next := signed(t, ca, ourNames, epoch), signed(t, ca, ourNames, epoch)
	next.Certificate = append(next.Certificate, ca.cert.Raw)
	expired := signed(t, ca, ourNames, epoch.Add(-40*day))
	chain, key := files(t, next)
	for name, spoil := range map[string]func(dir string) error{
		"the certificate of another key":      func(dir string) error { return os.WriteFile(filepath.Join(dir, keyServing), chain, 0o600) },
		"the key of another certificate":      func(dir string) error { return os.WriteFile(filepath.Join(dir, keyServingKey), key, 0o600) },
		"an empty certificate":                func(dir string) error { return os.Truncate(filepath.Join(dir, keyServing), 0) },
		"no key":                              func(dir string) error { return os.Remove(filepath.Join(dir, keyServingKey)) },
		"no folder":                           os.RemoveAll,
		"a pair whose chain is cut off":       func(dir string) error { return writePair(dir, chain[:len(chain)-40], key) },
		"a pair that has expired":             func(dir string) error { c, k := files(t, expired); return writePair(dir, c, k) },
		"a certificate cut off in the middle": func(dir string) error { return os.Truncate(filepath.Join(dir, keyServing), 300) },
	} {
		t.Run(name, func(t *testing.T) {
			mount := &folder{t: t, dir: t.TempDir()}
			mount.put(mount.dir, good)
			source := startFiles(t, mount.dir, clocktesting.NewFakePassiveClock(epoch))
			eventually(t, "the good pair is served", serves(source, good))
			must(t, spoil(mount.dir))
			errors := source.o.Metrics.errors.WithLabelValues(reasonReload)
			before := testutil.ToFloat64(errors)
			eventually(t, "the failure is counted", func() bool { return testutil.ToFloat64(errors) > before+1 })
			if !serves(source, good)() || source.Ready(nil) != nil {
				t.Errorf("not the last good pair, or not ready: %v", source.Ready(nil))
			}
			must(t, os.MkdirAll(mount.dir, 0o755))
			must(t, writePair(mount.dir, chain, key))
			eventually(t, "the repaired pair is served", serves(source, next))
		})
	}
}

func writePair(dir string, chain, key []byte) error {
	if err := os.WriteFile(filepath.Join(dir, keyServingKey), key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, keyServing), chain, 0o600)
}

func TestFilesAreNotReadyOnceExpired(t *testing.T) {
	mount := &folder{t: t, dir: t.TempDir()}
	mount.put(mount.dir, signed(t, newCA(t, ourName, epoch), ourNames, epoch))
	clock := clocktesting.NewFakePassiveClock(epoch)
	source := startFiles(t, mount.dir, clock)
	eventually(t, "ready", func() bool { return source.Ready(nil) == nil })
	clock.SetTime(epoch.Add(30 * day))
	if source.Ready(nil) == nil {
		t.Error("ready with an expired certificate")
	}
}

// TestFilesRotateUnderLoad renews the mounted pair while clients do nothing but new handshakes.
func TestFilesRotateUnderLoad(t *testing.T) {
	stories.Long(t)
	const rotations = 150
	ca := newCA(t, ourName, time.Now())
	mount := &folder{t: t, dir: t.TempDir()}
	last := signed(t, ca, ourNames, time.Now())
	mount.swap(last)
	source, err := NewFiles(FilesOptions{Dir: mount.dir, Quiet: time.Millisecond})
	must(t, err)
	run(t, source)
	eventually(t, "ready", func() bool { return source.Ready(nil) == nil })

	trusted := x509.NewCertPool()
	trusted.AddCert(ca.cert)
	address := listen(t, source)
	load := startLoad(t, 4, func() error {
		return request(address, &tls.Config{RootCAs: trusted, ServerName: "poundlock.lock.svc"})
	})
	for range rotations {
		last = signed(t, ca, ourNames, time.Now())
		mount.swap(last)
		load.round(t, 1)
	}
	eventually(t, "the last generation is served", serves(source, last))
	load.stop()
	if load.failed.Load() > 0 {
		t.Errorf("%d of %d requests failed, the first with: %v", load.failed.Load(), load.done.Load(), load.firstError())
	}
	t.Logf("%d generations mounted, %v picked up, %d requests, each with its own handshake, %d failed", rotations,
		testutil.ToFloat64(source.o.Metrics.rotations.WithLabelValues(certificateServing)), load.done.Load(), load.failed.Load())
}
