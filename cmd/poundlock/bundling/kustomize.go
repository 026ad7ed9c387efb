// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package bundling

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomize returns the manifests of a folder. Unless remote bases are allowed, it uses no network, so that the answer depends only on the checkout.
func kustomize(dir string, allowRemote bool) ([]byte, error) {
	// kustomize takes a relative path with an @ for the URL of a git repository, but never an absolute path.
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", dir, err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, fmt.Errorf("finding %s: %w", dir, err)
	}
	files := checkout{FileSystem: filesys.MakeFsOnDisk(), rewritten: map[string][]byte{}}
	if !allowRemote {
		if err := files.inspect(root, map[place]bool{}, false); err != nil {
			return nil, err
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, root)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", dir, err)
	}
	text, err := made.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", dir, err)
	}
	return text, nil
}

// checkout is the disk with rewritten kustomizations, in which no folder looks like a URL.
type checkout struct {
	filesys.FileSystem
	rewritten map[string][]byte
}

// ReadFile returns the rewritten text of a file, or else the file on disk.
func (c checkout) ReadFile(path string) ([]byte, error) {
	if text, has := c.rewritten[path]; has {
		return text, nil
	}
	return c.FileSystem.ReadFile(path)
}

// The members of a kustomization that name what kustomize reads. A folder may be a kustomization itself. A text with several lines is not a path but the
// content.
var (
	foldersOrFiles = []string{"resources", "bases", "components"}
	plugins        = []string{"generators", "transformers", "validators"}
	filesOnly      = []string{"crds", "configurations", "patchesStrategicMerge"}
	filesWithin    = map[string][]string{
		"patches": {"path"}, "patchesJson6902": {"path"}, "replacements": {"path"}, "openapi": {"path"},
		"configMapGenerator": {"files", "envs", "env"}, "secretGenerator": {"files", "envs", "env"},
	}
	filesOfPlugins = []string{"path", "paths", "files", "envs", "env"}
	downloads      = []string{"helmCharts", "helmChartInflationGenerator"}
)

// place is a folder, and whether the folder's resources are plugins.
type place struct {
	dir     string
	plugins bool
}

// inspect returns an error if a kustomization, or one that it refers to, names something that is not in the checkout. seen are the folders that are inspected
// already.
func (c checkout) inspect(dir string, seen map[place]bool, ofPlugins bool) error {
	if seen[place{dir, ofPlugins}] {
		return nil
	}
	seen[place{dir, ofPlugins}] = true
	file, text, err := kustomization(dir)
	if err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	if len(document.Content) == 0 {
		return nil
	}
	i := inspection{checkout: c, dir: dir, file: file, seen: seen, ofPlugins: ofPlugins}
	i.members(document.Content[0])
	if i.changed {
		if c.rewritten[file], err = yaml.Marshal(&document); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
	}
	return errors.Join(i.problems...)
}

func kustomization(dir string) (string, []byte, error) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file := filepath.Join(dir, name)
		if text, err := os.ReadFile(file); err == nil {
			return file, text, nil
		}
	}
	return "", nil, fmt.Errorf("the folder %s has no kustomization.yaml", dir)
}

type inspection struct {
	checkout
	dir, file string
	seen      map[place]bool
	ofPlugins bool
	changed   bool
	problems  []error
}

func (i *inspection) members(top *yaml.Node) {
	for _, key := range foldersOrFiles {
		for _, entry := range list(member(top, key)) {
			i.folderOrFile(entry, i.ofPlugins)
		}
	}
	for _, key := range plugins {
		for _, entry := range list(member(top, key)) {
			i.folderOrFile(entry, true)
		}
	}
	for _, key := range filesOnly {
		for _, entry := range list(member(top, key)) {
			i.only(entry)
		}
	}
	for key, within := range filesWithin {
		holders := list(member(top, key))
		if key == "openapi" {
			holders = []*yaml.Node{member(top, key)}
		}
		for _, holder := range holders {
			for _, name := range within {
				value := member(holder, name)
				for _, entry := range append(list(value), value) {
					i.url(entry)
				}
			}
		}
	}
	for _, key := range downloads {
		if member(top, key) != nil {
			i.refuse(key + ", which is downloaded")
		}
	}
}

func (i *inspection) folderOrFile(entry *yaml.Node, ofPlugins bool) {
	if entry.Kind != yaml.ScalarNode {
		return
	}
	if strings.Contains(entry.Value, "\n") {
		i.content([]byte(entry.Value), ofPlugins)
		return
	}
	path := i.path(entry.Value)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		i.refuse(entry.Value)
	case info.IsDir():
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		if err := i.inspect(path, i.seen, ofPlugins); err != nil {
			i.problems = append(i.problems, err)
		}
		if !filepath.IsAbs(entry.Value) && !strings.HasPrefix(entry.Value, ".") {
			// kustomize takes github.com/a/b, and a name with @, for a repository even if the folder exists.
			entry.Value = "./" + entry.Value
			i.changed = true
		}
	case ofPlugins:
		if text, err := os.ReadFile(path); err == nil { // kustomize itself reports the error
			i.content(text, true)
		}
	}
}

// content refuses the URLs in a plugin's text, because a plugin may name files, too.
func (i *inspection) content(text []byte, ofPlugins bool) {
	if !ofPlugins {
		return
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); err != nil {
			return // the text ends, or kustomize itself reports the error
		}
		i.urls(&document, false)
	}
}

// urls refuses what kustomize would download for a plugin. files reports that node is the value of a member that names files.
func (i *inspection) urls(node *yaml.Node, files bool) {
	for n, below := range node.Content {
		within := files
		if node.Kind == yaml.MappingNode {
			if n%2 == 0 {
				continue // a key
			}
			within = slices.Contains(filesOfPlugins, node.Content[n-1].Value)
		}
		if within {
			i.url(below)
		}
		i.urls(below, within)
	}
}

func (i *inspection) only(entry *yaml.Node) {
	if entry.Kind != yaml.ScalarNode || strings.Contains(entry.Value, "\n") {
		return
	}
	if _, err := os.Stat(i.path(entry.Value)); err != nil {
		i.refuse(entry.Value)
	}
}

// url refuses a file that kustomize would download.
func (i *inspection) url(entry *yaml.Node) {
	if entry != nil && entry.Kind == yaml.ScalarNode && strings.Contains(entry.Value, "://") {
		i.refuse(entry.Value)
	}
}

func (i *inspection) path(entry string) string {
	if filepath.IsAbs(entry) {
		return entry
	}
	return filepath.Join(i.dir, entry)
}

func (i *inspection) refuse(entry string) {
	i.problems = append(i.problems, fmt.Errorf(
		"%s refers to %s, which is not in the checkout: add the files to the checkout, or allow downloads with --allow-remote", i.file, entry))
}

// member is the value of a key, or nil.
func member(o *yaml.Node, key string) *yaml.Node {
	if o == nil || o.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(o.Content); i += 2 {
		if o.Content[i].Value == key {
			return o.Content[i+1]
		}
	}
	return nil
}

func list(node *yaml.Node) []*yaml.Node {
	if node == nil || node.Kind != yaml.SequenceNode {
		return nil
	}
	return node.Content
}
