// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/bundle"
)

// runLevel is the prefix of file names. The cluster version operator applies files with this prefix together with Cluster API's.
const (
	runLevel = "0000_30_cluster-api_04_cm."
	plainDir = "plain"
)

// output is what a folder must have: files by name. leftOver matches the names of files that an earlier run for the same provider may have left.
type output struct {
	files    map[string][]byte
	leftOver *regexp.Regexp
}

// render returns the files: one for each ConfigMap, and the copy for reviewers.
func render(b bundle.Bundle, all []*corev1.ConfigMap) (output, error) {
	label := b.Provider.Label()
	out := output{files: map[string][]byte{}, leftOver: regexp.MustCompile(`^` + regexp.QuoteMeta(runLevel+label) + `(\.[0-9]+)?\.yaml$`)}
	for _, cm := range all {
		text, err := configMapYAML(cm)
		if err != nil {
			return output{}, err
		}
		out.files[runLevel+cm.Name+".yaml"] = text
	}
	plain, err := bundle.Encode(b.Documents)
	if err != nil {
		return output{}, err
	}
	out.files[filepath.Join(plainDir, label+".yaml")] = plain
	return out, nil
}

func configMapYAML(cm *corev1.ConfigMap) ([]byte, error) {
	text, err := yaml.Marshal(cm)
	if err != nil {
		return nil, fmt.Errorf("writing ConfigMap %s: %w", cm.Name, err)
	}
	documents, err := bundle.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("writing ConfigMap %s: %w", cm.Name, err)
	}
	return bundle.Encode(documents)
}

// stale lists the files of this provider in the folder that are no longer wanted.
func (o output) stale(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	var names []string
	for _, entry := range entries {
		if _, wanted := o.files[entry.Name()]; !wanted && o.leftOver.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// write makes a folder equal to the output. Every file is written completely under a temporary name before the first file is renamed. A file that is equal
// already is not touched.
func write(dir string, o output) error {
	leftOver, err := o.stale(dir)
	if err != nil {
		return err
	}
	ready := map[string]string{}
	defer func() {
		for _, temporary := range ready {
			_ = os.Remove(temporary) // if all went well, it was renamed and is gone
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(o.files)) {
		path := filepath.Join(dir, name)
		switch have, err := os.ReadFile(path); {
		case err == nil && bytes.Equal(have, o.files[name]):
			continue
		case err != nil && !errors.Is(err, os.ErrNotExist): // such as a folder, which no file can replace
			return fmt.Errorf("reading %s: %w", path, err)
		}
		temporary, err := prepare(path, o.files[name])
		if err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		ready[path] = temporary
	}
	for _, path := range slices.Sorted(maps.Keys(ready)) {
		if err := os.Rename(ready[path], path); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	for _, name := range leftOver {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("removing a file of an earlier run: %w", err)
		}
	}
	return nil
}

func prepare(path string, content []byte) (name string, err error) {
	const folderMode, fileMode = 0o755, 0o644
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to report
		}
	}()
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(fileMode), f.Sync(), f.Close())
	return f.Name(), err
}

// errStale is the error of --verify if the folder is not equal to the output.
var errStale = errors.New("the files in --out are stale: run the command without --verify, and commit the result")

// verify prints a diff and returns errStale if a folder is not equal to the output. It compares content that is decompressed, so that another release of Go,
// which may compress differently, changes no answer.
func verify(dir string, o output, out io.Writer) error {
	leftOver, err := o.stale(dir)
	if err != nil {
		return err
	}
	stale := false
	for _, name := range slices.Sorted(maps.Keys(o.files)) {
		path := filepath.Join(dir, name)
		have, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		if err == nil && (bytes.Equal(have, o.files[name]) || expanded(have) == expanded(o.files[name])) {
			continue
		}
		stale = true
		if err := printDiff(out, path, expanded(have), expanded(o.files[name])); err != nil {
			return err
		}
	}
	for _, name := range leftOver {
		stale = true
		fmt.Fprintf(out, "%s is not written any more: delete the file\n", filepath.Join(dir, name))
	}
	if stale {
		return errStale
	}
	return nil
}

// expanded returns a file's text with its components decompressed, so that a person can compare it. Everything else in the file stays.
func expanded(text []byte) string {
	var cm corev1.ConfigMap
	if !bytes.Contains(text, []byte("\nkind: ConfigMap\n")) || yaml.Unmarshal(text, &cm) != nil || len(cm.BinaryData) == 0 {
		return string(text)
	}
	piece, err := bundle.Unpack(&cm)
	documents, err2 := bundle.Decode(text)
	if err != nil || err2 != nil || len(documents) != 1 {
		return string(text)
	}
	binary, _ := documents[0].Object["binaryData"].(map[string]any)
	delete(binary, "components")
	head, err := bundle.Encode(documents)
	if err != nil {
		return string(text)
	}
	return string(head) + "# components, decompressed:\n" + string(piece.Components)
}

func printDiff(out io.Writer, path, have, want string) error {
	const context, most = 3, 400
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(have), B: difflib.SplitLines(want), FromFile: path, ToFile: path + " (as it should be)", Context: context,
	})
	if err != nil {
		return fmt.Errorf("comparing %s: %w", path, err)
	}
	lines := strings.SplitAfter(text, "\n")
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("… and %d lines more\n", len(lines)-most))
	}
	fmt.Fprint(out, strings.Join(lines, ""))
	return nil
}
