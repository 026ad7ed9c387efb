// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/poundlock/poundlock/conversion"
	"github.com/poundlock/poundlock/internal/amount"
	"github.com/poundlock/poundlock/policies"
)

// largestFile is the size, in bytes, above which a folder's files are skipped. Files of manifests are smaller. A must-gather also has logs and dumps.
const largestFile = 256 << 20

func (c *collection) path(path string, stdin io.Reader) error {
	if path == "-" {
		c.nextFile = "standard input"
		return c.stream(stdin, true)
	}
	if IsURL(path) {
		return c.built(path, &resource.FilenameOptions{Filenames: []string{path}})
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("reading -f %s: %w", path, err)
	}
	if !info.IsDir() {
		return c.file(path, true)
	}
	return filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading -f %s: %w", path, err)
		}
		if !entry.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(at)) {
			return nil
		}
		return c.file(at, false)
	})
}

func (c *collection) file(path string, named bool) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading -f %s: %w", path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > largestFile && !named {
		return nil
	}
	c.nextFile = path
	return c.stream(f, named)
}

// stream adds the documents that it reads, one by one, so that it holds only one document at a time.
func (c *collection) stream(r io.Reader, named bool) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(r))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", c.nextFile, err)
		}
		if err := c.document(document); err != nil && (named || looksOurs(document)) {
			c.problem(fmt.Sprintf("document %d: %v", n, err))
		}
	}
}

// looksOurs reports whether a broken document names a group of either API. Of a folder, only such documents are reported, because many files of a must-gather
// are no manifests.
func looksOurs(document []byte) bool {
	text := string(document)
	return strings.Contains(text, machineGroup+"/") || strings.Contains(text, clusterGroup+"/")
}

func (c *collection) document(document []byte) error {
	raw, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return fmt.Errorf("cannot be read as YAML or JSON: %s", oneLine(err.Error()))
	}
	if string(raw) == "null" {
		return nil
	}
	return c.content(raw)
}

// content adds one object, or those of a list.
func (c *collection) content(raw []byte) error {
	var head struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return errors.New("is not a Kubernetes object")
	}
	if !strings.HasSuffix(head.Kind, "List") || head.Items == nil {
		return c.object(raw)
	}
	var all []error
	for i, item := range head.Items {
		if err := c.object(item); err != nil {
			all = append(all, fmt.Errorf("items[%d]: %w", i, err))
		}
	}
	return errors.Join(all...)
}

func (c *collection) object(raw []byte) error {
	o, err := slim(raw)
	if err != nil {
		return err
	}
	if o == nil || o.Kind == "" || o.APIVersion == "" {
		return errors.New("is not a Kubernetes object: apiVersion or kind is missing")
	}
	c.add(o)
	return nil
}

// slim reads an object without its managed fields, which are most of its bytes.
func slim(raw []byte) (*policies.Object, error) {
	var content map[string]json.RawMessage
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, errors.New("is not a Kubernetes object")
	}
	var metadata map[string]json.RawMessage
	if err := json.Unmarshal(content["metadata"], &metadata); err == nil && metadata["managedFields"] != nil {
		delete(metadata, "managedFields")
		if content["metadata"], err = json.Marshal(metadata); err != nil {
			return nil, err
		}
		if raw, err = json.Marshal(content); err != nil {
			return nil, err
		}
	}
	return policies.ParseObject(slices.Clone(raw))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// mostKinds is how many kinds a sentence lists. longestKind is how many characters it has of a kind's name.
const mostKinds, longestKind = 5, 63

// Nothing returns a sentence if the input has neither an object that moves nor a broken document; "" otherwise. reads names the command.
func (f *Fleet) Nothing(from Sources, reads string) string {
	if len(f.Pairs)+len(f.Beside)+len(f.Problems) > 0 {
		return ""
	}
	kinds := slices.SortedFunc(maps.Keys(f.held), func(a, b string) int { return cmp.Or(f.held[b]-f.held[a], strings.Compare(a, b)) })
	var has []string
	for _, kind := range kinds[:min(len(kinds), mostKinds)] {
		has = append(has, amount.Of(f.held[kind], conversion.Cut(kind, longestKind)))
	}
	holds := "no object"
	if more := len(kinds) - len(has); more > 0 {
		has = append(has, amount.Of(more, "other kind"))
	}
	if len(has) > 0 {
		holds = strings.Join(has, ", ")
	}
	sentences := append([]string{
		fmt.Sprintf("%s: contains %s. %s reads Machines, MachineSets and MachineHealthChecks of either API: give a file that contains such an object",
			from.Flags(), holds, reads),
	}, f.Unchecked()...)
	return strings.Join(sentences, ". ")
}
