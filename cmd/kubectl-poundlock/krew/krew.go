// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package krew

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Target is a platform that the plugin is built for.
type Target struct{ OS, Arch string }

// Targets lists the platforms that the plugin is built for.
func Targets() []Target {
	return []Target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}
}

// Binary is the name of the plugin's file on the target.
func (t Target) Binary() string {
	if t.OS == "windows" {
		return "kubectl-poundlock.exe"
	}
	return "kubectl-poundlock"
}

// Archive is the file name of the target's archive.
func (t Target) Archive(version string) string {
	return fmt.Sprintf("kubectl-poundlock_%s_%s_%s.tar.gz", version, t.OS, t.Arch)
}

// Address is where releases are downloaded from.
const Address = "https://github.com/poundlock/poundlock/releases/download"

var semantic = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// Manifest returns the plugin's manifest in krew's index. sums are the checksums of the targets' archives, in hexadecimal.
func Manifest(version string, sums map[Target]string) ([]byte, error) {
	if !semantic.MatchString(version) {
		return nil, fmt.Errorf("version %q: krew needs a semantic version that begins with v, such as v0.1.0", version)
	}
	var platforms []any
	for _, t := range Targets() {
		sum, ok := sums[t]
		if !ok {
			continue
		}
		platforms = append(platforms, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"os": t.OS, "arch": t.Arch}},
			"uri":      fmt.Sprintf("%s/%s/%s", Address, version, t.Archive(version)),
			"sha256":   sum,
			"bin":      t.Binary(),
			"files":    files(t),
		})
	}
	if len(platforms) == 0 {
		return nil, fmt.Errorf("the release has no archive for any platform")
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
		"kind":       "Plugin",
		"metadata":   map[string]any{"name": "poundlock"},
		"spec": map[string]any{
			"version":          version,
			"homepage":         "https://github.com/poundlock/poundlock",
			"shortDescription": "Move machines between Machine and Cluster API",
			"description": "See which API is authoritative for OpenShift's machines, Machine API or Cluster API; check which of them could move, and why\n" +
				"others could not, in a cluster or in files; convert manifests either way; and move them, step by step.\n",
			"caveats": "For completion in your shell, link the plugin to its second name, somewhere in PATH:\n" +
				"  ln -s \"$(command -v kubectl-poundlock)\" kubectl_complete-poundlock\n",
			"platforms": platforms,
		},
	})
}

// Licences is the file with the licences of compiled dependencies.
const Licences = "LICENCES-OF-MODULES"

// beside are the files next to the binary in each archive.
var beside = []string{"LICENSE", "NOTICE", Licences}

func files(t Target) (out []any) {
	for _, name := range append([]string{t.Binary()}, beside...) {
		out = append(out, map[string]any{"from": name, "to": "."})
	}
	return out
}

// static returns an error if a Linux binary needs a loader or a library. Those of the machine that built the binary may be newer than a user's, or of another
// kind. Other systems have no static binaries.
func static(t Target, binary string) error {
	if t.OS != "linux" {
		return nil
	}
	f, err := elf.Open(binary)
	if err != nil {
		return fmt.Errorf("reading %s: %w", binary, err)
	}
	defer func() { _ = f.Close() }()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("reading %s: %w", binary, err)
	}
	if len(libraries) > 0 || slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("%s is not static: the binary needs a loader, and the libraries %v. Build it with CGO_ENABLED=0", binary, libraries)
	}
	return nil
}

// Pack writes the target's archive into dir, and returns the archive's checksum. The archive has the binary, Poundlock's LICENSE and NOTICE, and the licences
// of dependencies. Its entries have no time and no owner. A Linux binary must be static.
func Pack(dir, version string, t Target, binary, licence, notice, licences string) (string, error) {
	if err := static(t, binary); err != nil {
		return "", err
	}
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, f := range []struct {
		name, path string
		mode       int64
	}{{t.Binary(), binary, 0o755}, {"LICENSE", licence, 0o644}, {"NOTICE", notice, 0o644}, {Licences, licences, 0o644}} {
		raw, err := os.ReadFile(f.path)
		if err != nil {
			return "", fmt.Errorf("packing %s: %w", f.name, err)
		}
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(raw)), Format: tar.FormatUSTAR}); err != nil {
			return "", fmt.Errorf("packing %s: %w", f.name, err)
		}
		if _, err := io.Copy(archive, bytes.NewReader(raw)); err != nil {
			return "", fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return "", fmt.Errorf("packing for %s: %w", t.OS, err)
	}
	if err := zipped.Close(); err != nil {
		return "", fmt.Errorf("packing for %s: %w", t.OS, err)
	}
	sum := sha256.Sum256(packed.Bytes())
	return hex.EncodeToString(sum[:]), os.WriteFile(filepath.Join(dir, t.Archive(version)), packed.Bytes(), 0o644)
}

// ParseTarget parses a target such as linux/amd64.
func ParseTarget(text string) (Target, error) {
	system, arch, ok := strings.Cut(text, "/")
	for _, t := range Targets() {
		if ok && t == (Target{system, arch}) {
			return t, nil
		}
	}
	return Target{}, fmt.Errorf("platform %q: give one of linux/amd64, linux/arm64, darwin/amd64, darwin/arm64, windows/amd64", text)
}
