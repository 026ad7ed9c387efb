// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
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

// TestMakeImage builds a small program in the place of Poundlock, for two platforms, and reads what was written as its users do: a registry's client the
// layout, podman and docker the archives.
func TestMakeImage(t *testing.T) {
	root, dir := t.TempDir(), filepath.Join(t.TempDir(), "image")
	for name, text := range map[string]string{
		"go.mod": "module github.com/poundlock/poundlock\n\ngo 1.26\n", "LICENSE": "the licence", "NOTICE": "whose",
		"internal/build/build.go": "package build\n\nvar Version string\n",
		// With cgo, os/user wants libc.
		"cmd/poundlock/main.go": "package main\n\nimport (\n\t_ \"os/user\"\n\n\t\"github.com/poundlock/poundlock/internal/build\"\n)\n\n" +
			"func main() { println(build.Version) }\n",
		"internal/licences/print.go": "//go:build ignore\n\npackage main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() { fmt.Println(os.Args[1:]) }\n",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "all"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Setenv("CGO_ENABLED", "1")
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer s.Close()
	repository := strings.TrimPrefix(s.URL, "http://") + "/poundlock"
	stale := filepath.Join(dir, layoutDir, "stale")
	if err := errors.Join(os.MkdirAll(filepath.Dir(stale), 0o755), os.WriteFile(stale, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	o := options{root: root, dir: dir, version: "v0.1.0", push: repository, platforms: []string{"linux/amd64", "linux/arm64"}}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what an earlier run left is in the layout: %v", err)
	}
	pushed, err := remote.Index(must(name.NewTag(repository + ":v0.1.0")))
	if err != nil {
		t.Fatal(err)
	}
	commit := must(o.git(t.Context(), "rev-parse", "--short=12", "HEAD"))
	at := must(o.committed(t.Context()))

	marker := struct {
		ImageLayoutVersion string `json:"imageLayoutVersion"`
	}{}
	decoded(t, filepath.Join(dir, layoutDir, "oci-layout"), &marker)
	top := v1.IndexManifest{}
	decoded(t, filepath.Join(dir, layoutDir, "index.json"), &top)
	if marker.ImageLayoutVersion != "1.0.0" || len(top.Manifests) != 1 || top.Manifests[0].MediaType != types.OCIImageIndex ||
		top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v0.1.0" {
		t.Fatalf("%+v: %+v", marker, top)
	}
	both := v1.IndexManifest{}
	decoded(t, filepath.Join(dir, layoutDir, "blobs", "sha256", top.Manifests[0].Digest.Hex), &both)
	for n, want := range platforms {
		if len(both.Manifests) != 2 || !both.Manifests[n].Platform.Equals(want) || both.Manifests[n].MediaType != types.OCIManifestSchema1 {
			t.Fatalf("%+v", both)
		}
		loaded(t, filepath.Join(dir, archive(want)), want)
		c := must(must(pushed.Image(both.Manifests[n].Digest)).ConfigFile())
		if l := c.Config.Labels; l["org.opencontainers.image.version"] != "v0.1.0" || l["org.opencontainers.image.revision"] != commit || !c.Created.Equal(at) {
			t.Errorf("made at %s of the commit of %s: %v", c.Created, at, l)
		}
	}

	o.version, o.push, o.platforms = "", "", o.platforms[:1]
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	decoded(t, filepath.Join(dir, layoutDir, "index.json"), &top)
	if version := top.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; version != "v0.0.0-"+commit {
		t.Errorf("the version is %s", version)
	}
}

// loaded reads an archive without what wrote it, as `podman load` does: manifest.json names the configuration, the layers and the tag.
func loaded(t *testing.T, path string, p v1.Platform) {
	t.Helper()
	outer := unpacked(t, bytes.NewReader(must(os.ReadFile(path))))
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	config := v1.ConfigFile{}
	if err := json.Unmarshal(outer["manifest.json"], &manifest); err != nil || len(manifest) != 1 || len(manifest[0].Layers) != 1 {
		t.Fatalf("%v: %s", err, outer["manifest.json"])
	}
	if err := json.Unmarshal(outer[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(manifest[0].RepoTags, []string{"poundlock:v0.1.0"}) || config.Architecture != p.Architecture || config.OS != "linux" ||
		config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/poundlock"}) || len(config.RootFS.DiffIDs) != 1 {
		t.Errorf("%+v: %+v", manifest, config)
	}
	layer := unpacked(t, must(gzip.NewReader(bytes.NewReader(outer[manifest[0].Layers[0]]))))
	for name, want := range map[string]string{
		"licenses/LICENSE": "the licence", "licenses/NOTICE": "whose", "licenses/LICENCES-OF-MODULES": "[linux " + p.Architecture + " ./cmd/poundlock]\n",
	} {
		if string(layer[name]) != want {
			t.Errorf("%s is %q, want %q", name, layer[name], want)
		}
	}
	binary, err := elf.NewFile(bytes.NewReader(layer["poundlock"]))
	if err != nil {
		t.Fatal(err)
	}
	libraries, err := binary.ImportedLibraries()
	wanted := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[p.Architecture]
	if err != nil || len(libraries) > 0 || binary.Machine != wanted || !bytes.Contains(layer["poundlock"], []byte("v0.1.0")) {
		t.Errorf("%v: %v %s", err, libraries, binary.Machine)
	}
}

func unpacked(t *testing.T, content io.Reader) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if (h.Name == "poundlock" || strings.HasPrefix(h.Name, "licenses/")) && h.Mode&0o222 != 0 {
			t.Errorf("%s may be written to: %o", h.Name, h.Mode)
		}
		out[h.Name] = must(io.ReadAll(r))
	}
}

func decoded(t *testing.T, path string, to any) {
	t.Helper()
	if err := json.Unmarshal(must(os.ReadFile(path)), to); err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestABinaryThatIsStatic(t *testing.T) {
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := static(binary); err != nil {
		t.Error(err)
	}
}
