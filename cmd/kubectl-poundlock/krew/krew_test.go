// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package krew_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/cmd/kubectl-poundlock/krew"
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
	for _, path := range []string{binary, licence, notice, modules} {
		if err := os.WriteFile(path, []byte("what "+filepath.Base(path)+" holds"), 0o600); err != nil {
			t.Fatal(err)
		}
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
