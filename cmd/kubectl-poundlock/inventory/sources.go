// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/poundlock/poundlock/policies/authority"
)

// Sources are where objects are read from instead of a cluster.
type Sources struct {
	// Paths are files, folders, URLs and "-", standard input.
	Paths []string
	// Kustomization is a folder or a URL; "" for none.
	Kustomization string
}

// None reports whether there are no sources, so that the cluster is read.
func (s Sources) None() bool { return len(s.Paths) == 0 && s.Kustomization == "" }

// Flags returns the sources as flags, as a user types them.
func (s Sources) Flags() string {
	if s.Kustomization != "" {
		return "-k " + s.Kustomization
	}
	return "-f " + strings.Join(s.Paths, ", ")
}

// FromFiles reads files, folders (recursively, also a must-gather), URLs and "-", standard input. A named file must be readable. Of a folder, files that are no
// manifests are skipped.
func FromFiles(paths []string, stdin io.Reader, pairs authority.Pairs) (*Fleet, error) {
	return FromSources(Sources{Paths: paths}, stdin, pairs)
}

// FromSources reads files as FromFiles does, and a kustomization.
func FromSources(s Sources, stdin io.Reader, pairs authority.Pairs) (*Fleet, error) {
	c := newCollection(pairs)
	for _, path := range s.Paths {
		if err := c.path(path, stdin); err != nil {
			return nil, err
		}
	}
	if s.Kustomization != "" {
		if err := c.built(s.Kustomization, &resource.FilenameOptions{Kustomize: s.Kustomization}); err != nil {
			return nil, err
		}
	}
	if c.other != nil {
		one := describe(c.fleet.infrastructure)
		return nil, fmt.Errorf("the files contain the Infrastructure objects of several clusters (%s on %s, %s on %s): give the files of only one cluster",
			one.Name, one.Platform, c.other.Name, c.other.Platform)
	}
	return c.done(), nil
}

// IsURL reports whether a path is read by a request.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// built collects what Built reads.
func (c *collection) built(source string, options *resource.FilenameOptions) error {
	c.nextFile = source
	return Built(source, options, func(o *unstructured.Unstructured) error {
		raw, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		if err := c.object(raw); err != nil {
			c.problem(err.Error())
		}
		return nil
	})
}

// Built reads URLs and kustomizations with kubectl's library, and passes each object to take. The library's reader of files is not used for files: it takes the
// last of two equal keys, ends a file at its first bad document, and reports each file of a must-gather that is no manifest.
func Built(source string, options *resource.FilenameOptions, take func(*unstructured.Unstructured) error) error {
	found := resource.NewLocalBuilder().Unstructured().FilenameParam(false, options).Flatten().Do()
	err := found.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		return take(info.Object.(*unstructured.Unstructured))
	})
	if err != nil {
		return fmt.Errorf("reading %s: %w", source, err)
	}
	return nil
}
