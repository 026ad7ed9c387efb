// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package krew_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/krew"
	"github.com/poundlock/poundlock/test/stories"
)

var update = flag.Bool("update", false, "write the example manifest")

// plugin is krew's manifest as far as krew requires it.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			Sha256 string `json:"sha256"`
			Bin    string `json:"bin"`
			Files  []struct {
				From string `json:"from"`
				To   string `json:"to"`
			} `json:"files"`
		} `json:"platforms"`
	} `json:"spec"`
}

func packAll(t *testing.T, dir, version string) map[krew.Target]string {
	t.Helper()
	binary, licence, notice, modules := filepath.Join(dir, "binary"), filepath.Join(dir, "licence"), filepath.Join(dir, "notice"), filepath.Join(dir, "modules")
	for _, path := range []string{licence, notice, modules} {
		if err := os.WriteFile(path, []byte("what "+filepath.Base(path)+" holds"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(binary, executable(t, false), 0o600); err != nil {
		t.Fatal(err)
	}
	sums := map[krew.Target]string{}
	for _, target := range krew.Targets() {
		sum, err := krew.Pack(dir, version, target, binary, licence, notice, modules)
		if err != nil {
			t.Fatal(err)
		}
		sums[target] = sum
	}
	return sums
}

// executable is the header of a Linux binary, that of one which wants a loader, too.
func executable(t *testing.T, dynamic bool) []byte {
	t.Helper()
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56, Phoff: 64,
	}
	parts := []any{&header}
	if dynamic {
		header.Phnum = 1
		parts = append(parts, &elf.Prog64{Type: uint32(elf.PT_INTERP), Off: 0, Filesz: 1})
	}
	out := &bytes.Buffer{}
	for _, part := range parts {
		if err := binary.Write(out, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// A Linux binary that wants a loader or libraries does not run on every Linux.
func TestLinuxBinariesAreStatic(t *testing.T) {
	for sentence, c := range map[string]struct {
		target  krew.Target
		binary  []byte
		refused string
	}{
		"static":                      {target: krew.Target{OS: "linux", Arch: "amd64"}, binary: executable(t, false)},
		"it wants a loader":           {krew.Target{OS: "linux", Arch: "arm64"}, executable(t, true), "is not static"},
		"no binary of Linux":          {krew.Target{OS: "linux", Arch: "amd64"}, []byte("MZ"), "reading "},
		"macOS has none of its kinds": {target: krew.Target{OS: "darwin", Arch: "arm64"}, binary: []byte("any")},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "binary")
		if err := os.WriteFile(path, c.binary, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := krew.Pack(dir, "v0.1.0", c.target, path, path, path, path)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

// TestARelease builds what `make krew` does for one platform: the archive's binary runs, and its licences are those of what is compiled in.
func TestARelease(t *testing.T) {
	stories.Long(t)
	dir := t.TempDir()
	release := exec.CommandContext(t.Context(), "go", "run", "./cmd/kubectl-poundlock/krew/release.go",
		"-version", "v0.1.0", "-dir", dir, "-platforms", "linux/"+runtime.GOARCH)
	release.Dir = filepath.Join("..", "..", "..")
	if out, err := release.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	archive := filepath.Join(dir, krew.Target{OS: "linux", Arch: runtime.GOARCH}.Archive("v0.1.0"))
	if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{
		"LICENSE": "Apache License", "NOTICE": "Poundlock", krew.Licences: "k8s.io/client-go",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q: %v", name, want, err)
		}
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "kubectl-poundlock"), "version", "--client").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "v0.1.0") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestKrewCouldInstallIt does what krew does: it checks the manifest, reads the archive, compares the checksum and looks for the files.
func TestKrewCouldInstallIt(t *testing.T) {
	dir, version := t.TempDir(), "v0.1.0"
	raw, err := krew.Manifest(version, packAll(t, dir, version))
	if err != nil {
		t.Fatal(err)
	}
	var p plugin
	if err := yaml.UnmarshalStrict(raw, &p); err != nil {
		t.Fatal(err)
	}
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "poundlock" || p.Spec.Version != version {
		t.Errorf("%+v", p)
	}
	if n := len(p.Spec.ShortDescription); n == 0 || n > 50 || strings.HasSuffix(p.Spec.ShortDescription, ".") {
		t.Errorf("krew shows a short description of 50 characters at most, without a full stop: %q", p.Spec.ShortDescription)
	}
	if len(p.Spec.Platforms) != len(krew.Targets()) {
		t.Errorf("%d platforms", len(p.Spec.Platforms))
	}
	for _, platform := range p.Spec.Platforms {
		archive, err := os.ReadFile(filepath.Join(dir, platform.URI[strings.LastIndexByte(platform.URI, '/')+1:]))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(archive)
		if hex.EncodeToString(sum[:]) != platform.Sha256 || !regexp.MustCompile(`^https://\S+/v0\.1\.0/\S+\.tar\.gz$`).MatchString(platform.URI) {
			t.Errorf("%s has another checksum than %s", platform.URI, platform.Sha256)
		}
		names := unpacked(t, archive)
		for _, f := range platform.Files {
			if !slices.Contains(names, f.From) {
				t.Errorf("%s is not in %s", f.From, platform.URI)
			}
		}
		if want := []string{platform.Bin, "LICENSE", "NOTICE", krew.Licences}; !slices.Equal(names, want) || len(platform.Files) != len(want) {
			t.Errorf("%s holds %v, of which %d are installed; want %v", platform.URI, names, len(platform.Files), want)
		}
		if !slices.Contains(names, platform.Bin) || platform.Selector.MatchLabels["os"] == "" {
			t.Errorf("%+v", platform)
		}
	}
}

func unpacked(t *testing.T, archive []byte) []string {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if runs := header.Mode&0o111 != 0; runs != strings.HasPrefix(header.Name, "kubectl-") {
			t.Errorf("%s has the mode %o", header.Name, header.Mode)
		}
		names = append(names, header.Name)
	}
}

func TestTheSameFilesMakeTheSameArchive(t *testing.T) {
	if diff := cmp.Diff(packAll(t, t.TempDir(), "v0.1.0"), packAll(t, t.TempDir(), "v0.1.0")); diff != "" {
		t.Error(diff)
	}
}

func TestAManifestIsRefused(t *testing.T) {
	one := map[krew.Target]string{krew.Targets()[0]: "00"}
	for sentence, c := range map[string]struct {
		version string
		sums    map[krew.Target]string
		refused bool
	}{
		"a release":             {version: "v1.2.3", sums: one},
		"a candidate":           {version: "v1.2.3-rc.1", sums: one},
		"a version without v":   {version: "1.2.3", sums: one, refused: true},
		"a word":                {version: "latest", sums: one, refused: true},
		"no archive of its own": {version: "v1.2.3", refused: true},
	} {
		if _, err := krew.Manifest(c.version, c.sums); (err != nil) != c.refused {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

// TestTheManifestIsAsItWas shows how a change of the generator changes the manifest; go generate updates it.
func TestTheManifestIsAsItWas(t *testing.T) {
	sums := map[krew.Target]string{}
	for _, target := range krew.Targets() {
		sums[target] = strings.Repeat("0", 64)
	}
	want, err := krew.Manifest("v0.0.0", sums)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "poundlock.yaml")
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Error(diff)
	}
}
