// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// file is one file of the image. It is owned by root, and nobody may write to it.
type file struct {
	name string
	mode int64
	data []byte
}

type platformImage struct {
	platform v1.Platform
	v1.Image
}

// user is a user ID that no host uses. OpenShift gives a pod another one.
const user = "65532:65532"

const layoutDir = "oci"

func archive(p v1.Platform) string {
	return fmt.Sprintf("poundlock-%s-%s.tar", p.OS, p.Architecture)
}

// assemble returns an image from scratch that has one layer with the files.
func assemble(p v1.Platform, version, commit string, created time.Time, files []file) (v1.Image, error) {
	content, err := pack(files)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err = mutate.Append(base,
		mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "poundlock " + version}})
	if err != nil {
		return nil, err
	}
	labels := map[string]string{
		"org.opencontainers.image.title": "poundlock", "org.opencontainers.image.version": version, "org.opencontainers.image.revision": commit,
		"org.opencontainers.image.source": "https://github.com/poundlock/poundlock", "org.opencontainers.image.licenses": "Apache-2.0",
	}
	return mutate.ConfigFile(base, configured(base, func(c *v1.ConfigFile) {
		c.OS, c.Architecture, c.Variant, c.Created = p.OS, p.Architecture, p.Variant, v1.Time{Time: created}
		c.Config = v1.Config{Entrypoint: []string{"/poundlock"}, User: user, WorkingDir: "/", Labels: labels}
	}))
}

func configured(i v1.Image, with func(*v1.ConfigFile)) *v1.ConfigFile {
	c, err := i.ConfigFile()
	if err != nil {
		c = &v1.ConfigFile{} // mutate reports the error
	}
	c = c.DeepCopy()
	with(c)
	return c
}

// pack returns a layer with the files. Equal files give equal bytes.
func pack(files []file) ([]byte, error) {
	out := &bytes.Buffer{}
	w := tar.NewWriter(out)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	dirs := map[string]bool{".": true}
	for _, f := range files {
		if dir := path.Dir(f.name); !dirs[dir] {
			dirs[dir] = true
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o555, Format: tar.FormatUSTAR}); err != nil {
				return nil, err
			}
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

// write writes the OCI layout and the archives. Then it reads and validates them.
func write(dir, version string, images []platformImage) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: i.Image, Descriptor: v1.Descriptor{Platform: &i.platform}})
	}
	to := filepath.Join(dir, layoutDir)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	whole, err := layout.Write(to, empty.Index)
	if err != nil {
		return nil, err
	}
	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version})
	if err := whole.AppendIndex(index, named); err != nil {
		return nil, err
	}
	tag, err := name.NewTag("poundlock:" + version)
	if err != nil {
		return nil, err
	}
	for _, i := range images {
		if err := tarball.WriteToFile(filepath.Join(dir, archive(i.platform)), tag, i.Image); err != nil {
			return nil, err
		}
	}
	return index, validated(dir, tag, images)
}

// validated returns an error if the layout or an archive, read again, is not valid.
func validated(dir string, tag name.Tag, images []platformImage) error {
	index, err := layout.ImageIndexFromPath(filepath.Join(dir, layoutDir))
	if err != nil {
		return err
	}
	errs := []error{validate.Index(index), digests(filepath.Join(dir, layoutDir))}
	for _, i := range images {
		read, err := tarball.ImageFromPath(filepath.Join(dir, archive(i.platform)), &tag)
		if err != nil {
			return err
		}
		errs = append(errs, validate.Image(read))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("validating what was written: %w", err)
	}
	return nil
}

// digests returns an error if the name of a blob is not its digest. The library's validation does not check that for manifests.
func digests(dir string) error {
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	errs := []error{err}
	for _, blob := range blobs {
		data, err := os.ReadFile(blob)
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); err == nil && sum != filepath.Base(blob) {
			err = fmt.Errorf("%s has the digest %s", blob, sum)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// static returns an error for a binary that needs a loader or a shared library, because an image from scratch has neither.
func static(binary string) error {
	f, err := elf.Open(binary)
	if err != nil {
		return fmt.Errorf("reading %s: %w", binary, err)
	}
	defer func() { _ = f.Close() }()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("reading %s: %w", binary, err)
	}
	loaded := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if loaded || len(libraries) > 0 {
		return fmt.Errorf("the binary %s is not statically linked: it needs the libraries %v", binary, libraries)
	}
	return nil
}
