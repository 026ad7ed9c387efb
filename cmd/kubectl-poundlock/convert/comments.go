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

// Row is a row of a conversion's table for the written object: the path of a field, and the comment about the field.
type Row struct {
	// Path is the path below the written object, up to the path's first list.
	Path string
	Text string
	// full is the whole path, with [] after each list. A row whose field was not written has no comment.
	full string
	// same is the path of the source's field of the same name; "" if there is none. If the source has an equal value there, nothing changed.
	same string
	// line identifies the table's line, because all rows of a line share one comment.
	line int
}

// Place is where the fields of a table's two sides are in the objects.
type Place struct {
	// Name is the name of the source's object in comments; "" if that is obvious.
	Name string
	// Source and Target are prefixes of the paths, such as "spec.template.spec.providerSpec.value".
	Source, Target string
	// Core is the prefix of the fields that a provider's table has in the core object: "" for a Machine, "spec.template" for a set.
	Core string
}

// Rows returns the lines of a table that have a comment for the written object. to is the API of that object.
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
			r := Row{Path: place(outer(path), at), full: place(path, at), Text: noteOn(from, path, l.Note, at.Name), line: i}
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

// passesOn reports whether a path is that of the line which passes a providerSpec to another table. That other table has the comments.
func passesOn(path string) bool { return strings.HasSuffix(path, "providerSpec.value") }

// outer returns a path up to its first list.
func outer(path string) string {
	before, _, _ := strings.Cut(path, "[]")
	return before
}

// noteOn returns the comment on a field: the field's name in the source, and what changed.
func noteOn(from []string, path, note, name string) string {
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

// place returns the path in an object for a path in a table. A path in another object begins with that object's kind.
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

// Core returns the rows of a provider's table whose fields are in the core object.
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

// Write writes the object, with each row's comment at the row's first field. source is the object from which it was made.
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

// paths lists the paths of a value's leaves, with [] after each list.
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

// comment writes a short text after a scalar, and any other text above the key.
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

// unchanged reports whether the source has an equal value in the field of the same name.
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
