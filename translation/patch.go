// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Patch returns a JSON patch (RFC 6902) of a document, translated. The path of each operation shows where the operation's value belongs, and is never
// translated itself. Patches of other types have the form of the document: use a Scanner for them.
func (d Direction) Patch(doc Document, patch []byte) ([]byte, error) {
	var operations []json.RawMessage
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, fmt.Errorf("%w: a JSON patch must be a list of operations: %w", ErrMalformed, err)
	}
	s := newScanner(d, doc, operation)
	begin := bytes.IndexByte(patch, '[') + 1 // 0 for null, which has no operations either
	out := append(make([]byte, 0, len(patch)+len(patch)/4), patch[:begin]...)
	patch = patch[begin:]
	for _, operation := range operations {
		between := bytes.IndexFunc(patch, func(r rune) bool { return !strings.ContainsRune(" \t\r\n,", r) })
		out, patch = append(out, patch[:between]...), patch[between+len(operation):]
		s.Reset()
		s.choice = doc.automaton(single).at(path(operation))
		var err error
		if out, err = s.Append(out, operation); err == nil {
			out, err = s.Finish(out)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(out, patch...), nil
}

// path returns the path of an operation. If the path cannot be read, it returns a path that leads to no node.
func path(operation json.RawMessage) string {
	var members map[string]json.RawMessage
	var out string
	if json.Unmarshal(operation, &members) != nil || members["path"] == nil || json.Unmarshal(members["path"], &out) != nil {
		return "none"
	}
	return out
}

// at returns the node to which a JSON pointer leads.
func (a *automaton) at(pointer string) uint16 {
	at := a.start
	if pointer == "" {
		return at
	}
	parts := strings.Split(pointer, "/")
	if parts[0] != "" {
		return dead
	}
	for _, part := range parts[1:] {
		n := &a.nodes[at]
		if at = n.follow([]byte(unpointed.Replace(part))); index(part) && n.element != dead {
			at = n.element
		}
	}
	return at
}

var unpointed = strings.NewReplacer("~1", "/", "~0", "~")

// index reports whether an API server reads a part of a path as the index of a list. An API server also accepts an index with a sign, and counts from the end.
func index(part string) bool {
	_, err := strconv.Atoi(part)
	return part == "-" || err == nil
}

// IsJSON reports whether a body is JSON. The media type does not show that, because clients send JSON as application/apply-patch+yaml.
func IsJSON(body []byte) bool {
	for _, c := range body {
		if !blank(c) {
			return c == '{' || c == '['
		}
	}
	return false
}

// YAML returns the JSON of a YAML document that a client sent, because a Scanner reads only JSON. If a name occurs twice in a mapping, the last one counts, as
// in an API server. twice is then an error that names it, because the JSON no longer shows it.
func YAML(document []byte) (out []byte, twice, err error) {
	if out, err = yaml.YAMLToJSON(document); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	_, twice = yaml.YAMLToJSONStrict(document)
	return out, twice, nil
}
