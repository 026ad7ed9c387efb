// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var (
	platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}
	created   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// made writes an image of some files to a folder.
func made(t *testing.T, dir string) v1.ImageIndex {
	t.Helper()
	var images []platformImage
	for _, p := range platforms {
		i, err := assemble(p, "v0.1.0", "abc", created, []file{{"poundlock", 0o555, []byte("for " + p.Architecture)}, {"licenses/NOTICE", 0o444, []byte("whose")}})
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, platformImage{p, i})
	}
	index, err := write(dir, "v0.1.0", images)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestWhatIsInTheImage(t *testing.T) {
	index := made(t, t.TempDir())
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != len(platforms) {
		t.Fatalf("%d images", len(manifest.Manifests))
	}
	for n, m := range manifest.Manifests {
		i, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		c, err := i.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if !m.Platform.Equals(platforms[n]) || c.Architecture != platforms[n].Architecture || c.Config.User != user || strings.HasPrefix(user, "0") ||
			c.Config.Entrypoint[0] != "/poundlock" {
			t.Errorf("%+v, for %v", c, m.Platform)
		}
		content := mutate.Extract(i)
		got := map[string]int64{}
		for r := tar.NewReader(content); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got[strings.Trim(h.Name, "/")] = h.Mode
		}
		if len(got) != 3 || got["poundlock"] != 0o555 || got["licenses/NOTICE"] != 0o444 || got["licenses"] != 0o555 {
			t.Errorf("files: %v", got)
		}
	}
}

func TestTheSameFilesMakeTheSameImage(t *testing.T) {
	a, errA := made(t, t.TempDir()).Digest()
	b, errB := made(t, t.TempDir()).Digest()
	if err := errors.Join(errA, errB); err != nil || a != b {
		t.Errorf("%v: %s, %s", err, a, b)
	}
}

func TestWhatIsSpoiltIsNoticed(t *testing.T) {
	dir := t.TempDir()
	made(t, dir)
	blobs, err := filepath.Glob(filepath.Join(dir, layoutDir, "blobs", "sha256", "*"))
	if err != nil || len(blobs) == 0 {
		t.Fatal(err, blobs)
	}
	for _, blob := range blobs {
		was, err := os.ReadFile(blob)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(blob, append(was, ' '), 0o600); err != nil {
			t.Fatal(err)
		}
		tag, err := name.NewTag("poundlock:v0.1.0")
		if err != nil {
			t.Fatal(err)
		}
		if err := validated(dir, tag, nil); err == nil {
			t.Errorf("%s was spoilt, and nothing says so", blob)
		}
		if err := os.WriteFile(blob, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARegistryTakesIt(t *testing.T) {
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	to, err := name.NewTag(strings.TrimPrefix(s.URL, "http://") + "/poundlock:v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	index := made(t, t.TempDir())
	if err := remote.WriteIndex(to, index); err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(pulled); err != nil {
		t.Error(err)
	}
}

func TestABinaryThatIsNotStatic(t *testing.T) {
	if err := static("/bin/sh"); err == nil {
		t.Error("a shell passes for static")
	}
}
