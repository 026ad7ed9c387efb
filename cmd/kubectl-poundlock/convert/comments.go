// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/poundlock/poundlock/conversion"
)

// Row is a row of a conversion as it looks from the object that is written: where a field lies, and what to say of it.
type Row struct {
	// Path is below the object that is written, up to the first list on the way.
	Path string
	Text string
	// full is the whole path, with [] behind lists: a row of a field that was not written says nothing.
	full string
	// same is where the source has a field of the same name, "" where it has none: with the same value nothing changed.
	same string
	// line identifies the rows that come from one line of the table: it is written once.
	line int
}

// Place is where a table's two sides lie in the objects that it was used for.
type Place struct {
	// Name is what the source's paths are said to be of, "" where that is plain.
	Name string
	// Source and Target are prefixes of the paths, such as "spec.template.spec.providerSpec.value".
	Source, Target string
	// Core is the prefix of what a provider's table keeps in the core object: "" for a Machine, "spec.template" for a set.
	Core string
}

// Rows are the lines of a table that have something to say about the object that is written. to is that object's side.
func Rows(lines []conversion.Line, to conversion.Expressible, at Place) []Row {
	var out []Row
	for i, l := range lines {
		from, into := l.MachineAPI, l.ClusterAPI
		if to == conversion.OnlyMachineAPI {
			from, into = into, from
		}
		if l.Expressible != conversion.Both || slices.ContainsFunc(slices.Concat(from, into), passesOn) {
			continue
		}
		for _, path := range into {
			r := Row{Path: place(outer(path), at), full: place(path, at), Text: said(from, path, l.Note, at.Name), line: i}
			if slices.Contains(from, path) {
				r.same = joined(at.Source, outer(path))
			}
			if r.Text != "" {
				out = append(out, r)
			}
		}
	}
	return slices.DeleteFunc(out, func(r Row) bool {
		return slices.ContainsFunc(out, func(other Row) bool { return strings.HasPrefix(other.Path, r.Path+".") })
	})
}

// passesOn recognizes the line that hands a providerSpec to another table: that one has something to say.
func passesOn(path string) bool { return strings.HasSuffix(path, "providerSpec.value") }

// outer is a path up to the first list on its way.
func outer(path string) string {
	before, _, _ := strings.Cut(path, "[]")
	return before
}

// said is what a person wants to know of a field: that it was called otherwise, and what changed.
func said(from []string, path, note, name string) string {
	if slices.Equal(from, []string{path}) && name == "" {
		return note
	}
	if len(from) == 0 {
		return note
	}
	var sources []string
	for _, path := range from {
		if name != "" && !strings.Contains(path, conversion.Elsewhere) {
			path = name + " " + path
		}
		sources = append(sources, path)
	}
	source := strings.Join(sources, ", ")
	if last(from[0]) == last(path) && len(from) == 1 && note == "" {
		return ""
	}
	if note == "" {
		return "from " + source
	}
	return "from " + source + ": " + note
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// place is a path of the table as a path of the object. What lies elsewhere is marked by the kind that has it.
func place(path string, at Place) string {
	if _, rest, elsewhere := strings.Cut(path, conversion.Elsewhere); elsewhere {
		return "@" + joined(at.Core, rest)
	}
	return joined(at.Target, path)
}

func joined(prefix, path string) string {
	if prefix == "" || path == "" {
		return prefix + path
	}
	return prefix + "." + path
}

// Core are the rows that lie in the core object, of those of a provider's table.
func Core(rows []Row) []Row {
	var out []Row
	for _, r := range rows {
		if path, is := strings.CutPrefix(r.Path, "@"); is {
			r.Path, r.full, r.line = path, strings.TrimPrefix(r.full, "@"), -1-r.line
			out = append(out, r)
		}
	}
	return out
}

// Write writes the object that was made from source, each row's text at the first field that it is about.
func Write(w io.Writer, header string, object, source map[string]any, rows []Row) error {
	var document yaml.Node
	if err := document.Encode(object); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	document.HeadComment = header
	written := map[string]bool{}
	paths(object, "", written)
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !written[r.full] })
	c := commenter{rows: rows, object: object, source: source, done: map[int]bool{}}
	c.walk(&document, "")
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

type commenter struct {
	rows           []Row
	object, source map[string]any
	done           map[int]bool
}

// paths lists where a value has something, with [] behind lists.
func paths(value any, at string, into map[string]bool) {
	into[at] = true
	switch v := value.(type) {
	case map[string]any:
		for k := range v {
			paths(v[k], joined(at, k), into)
		}
	case []any:
		for i := range v {
			paths(v[i], at+"[]", into)
		}
	}
}

func (c commenter) walk(n *yaml.Node, at string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			path := joined(at, n.Content[i].Value)
			c.comment(n.Content[i], n.Content[i+1], path)
			c.walk(n.Content[i+1], path)
		}
	}
}

// comment sets a short text behind a scalar, and any other above the key.
func (c commenter) comment(key, value *yaml.Node, path string) {
	for _, r := range c.rows {
		if c.done[r.line] || r.Path != path || c.unchanged(r) {
			continue
		}
		c.done[r.line] = true
		if value.Kind == yaml.ScalarNode && len(r.Text) <= 60 && value.LineComment == "" {
			value.LineComment = r.Text
			continue
		}
		key.HeadComment = strings.TrimLeft(key.HeadComment+"\n"+wrapped(r.Text), "\n")
	}
}

// unchanged reports whether the source has the same value under the same name.
func (c commenter) unchanged(r Row) bool {
	if r.same == "" {
		return false
	}
	was, had, _ := unstructured.NestedFieldNoCopy(c.source, strings.Split(r.same, ".")...)
	is, _, _ := unstructured.NestedFieldNoCopy(c.object, strings.Split(r.Path, ".")...)
	return had && reflect.DeepEqual(was, is)
}

func wrapped(text string) string {
	const width = 110
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		if column > 0 && column+1+len(word) > width {
			b.WriteByte('\n')
			column = 0
		}
		if column > 0 {
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
