// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"bytes"
	"strings"
)

// Value is the form in which a text contains a group's name.
type Value uint8

// The forms. A test covers each of them in each direction.
const (
	// Nothing is text without a group's name.
	Nothing Value = iota
	// APIVersion is `cluster.x-k8s.io/v1beta2`.
	APIVersion
	// Reference is an apiVersion, too, of an object that may be the platform's. If a client reads it and writes it back, it is stored as it was.
	Reference
	// Group is `cluster.x-k8s.io`.
	Group
	// DefinitionName is `machines.cluster.x-k8s.io`.
	DefinitionName
	// Path is `/apis/cluster.x-k8s.io/v1beta2`. The first slash may be missing, and `/openapi/v3` may come before it.
	Path
	// SchemaName is `io.x-k8s.cluster.v1beta2.Machine`, the name of a schema in OpenAPI.
	SchemaName
	// SchemaReference is a SchemaName after `#/components/schemas/` (in version 2, after `#/definitions/`).
	SchemaReference
	// Prose is a sentence that contains whole names of groups. People read it, and nobody writes it back.
	Prose

	// kind is not translated. It decides which rows hold for the rest of the object.
	kind
)

// value appends the translation of text to dst, and reports whether it differs from text. If it does not differ, value appends nothing.
func (d Direction) value(dst, text []byte, v Value) ([]byte, bool) {
	switch v {
	case APIVersion, Reference:
		slash := bytes.IndexByte(text, '/')
		if slash < 0 {
			return dst, false
		}
		return d.named(dst, text, 0, slash, v == Reference)
	case Group:
		return d.named(dst, text, 0, len(text), false)
	case DefinitionName:
		dot := bytes.IndexByte(text, '.')
		return d.named(dst, text, dot+1, len(text), false)
	case Path:
		from, to := groupInPath(text)
		return d.named(dst, text, from, to, false)
	case SchemaName:
		return d.schema(dst, text, 0)
	case SchemaReference:
		for _, before := range schemaReferences {
			if len(text) > len(before) && string(text[:len(before)]) == before {
				return d.schema(dst, text, len(before))
			}
		}
	case Prose:
		return d.prose(dst, text)
	}
	return dst, false
}

// named appends text to dst with the group text[from:to] translated. reference means that the text is of the form Reference.
func (d Direction) named(dst, text []byte, from, to int, reference bool) ([]byte, bool) {
	was, before := split(text[from:to])
	becomes := d.own(was)
	if reference {
		becomes = d.reference(was)
	}
	if becomes == was {
		return dst, false
	}
	dst = append(dst, text[:from+before]...)
	dst = append(dst, baseNames[becomes]...)
	return append(dst, text[to:]...), true
}

// reference returns the base that replaces b in a reference that may be to an object of the platform. Each direction permutes the three bases. So what a client
// reads and writes back is stored as it was, whichever of the three names it had.
func (d Direction) reference(b base) base {
	switch {
	case b == noBase:
		return noBase
	case d == ToPrivate: // standard → private → foreign → standard
		return b%foreign + 1
	}
	return (b+1)%foreign + 1
}

// groupInPath returns the bounds of the group in the path of a request or in a key of OpenAPI's index. Only the segment after `apis` is a group. Other
// segments, such as names of objects, may look like one.
func groupInPath(path []byte) (int, int) {
	from := 0
	if len(path) > 0 && path[0] == '/' {
		from = 1
	}
	if bytes.HasPrefix(path[from:], []byte("openapi/v3/")) {
		from += len("openapi/v3/")
	}
	if !bytes.HasPrefix(path[from:], []byte("apis/")) {
		return 0, 0
	}
	from += len("apis/")
	if end := bytes.IndexAny(path[from:], "/?"); end >= 0 {
		return from, from + end
	}
	return from, len(path)
}

// schemaReferences are what comes before the name of a schema, in version 3 and in version 2.
var schemaReferences = [...]string{"#/components/schemas/", "#/definitions/"}

// reversed are the bases in the form in which names of schemas have them, with the labels in reverse order.
var reversed = [...]string{standard: reverse(Standard), private: reverse(Private), foreign: reverse(Foreign)}

func reverse(group string) string {
	labels := strings.Split(group, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, ".")
}

// schema appends text to dst with the name of a schema translated, which begins at text[from].
func (d Direction) schema(dst, text []byte, from int) ([]byte, bool) {
	for b := standard; b <= foreign; b++ {
		name := text[from:]
		becomes := d.own(b)
		if becomes == b || len(name) <= len(reversed[b]) || string(name[:len(reversed[b])]) != reversed[b] || name[len(reversed[b])] != '.' {
			continue
		}
		rest := name[len(reversed[b]):] // such as .infrastructure.v1beta2.AWSMachine
		if label, _, more := bytes.Cut(rest[1:], []byte(".")); more && excluded(label) {
			return dst, false
		}
		dst = append(dst, text[:from]...)
		dst = append(dst, reversed[becomes]...)
		return append(dst, rest...), true
	}
	return dst, false
}

// prose appends a sentence to dst with each whole name of a group replaced. On the way to the API server, a name before a slash is replaced only if a version
// follows the slash. Otherwise the name may belong to the key of a label, which is the same on both sides, such as cluster.x-k8s.io/cluster-name.
func (d Direction) prose(dst, text []byte) ([]byte, bool) {
	from := standard
	if d == ToStandard {
		from = private
	}
	name := []byte(baseNames[from])
	length := len(dst)
	changed := false
	for {
		at := bytes.Index(text, name)
		if at < 0 {
			break
		}
		end := at + len(name)
		dst = append(dst, text[:at]...)
		if d.whole(text, at, end) {
			dst = append(dst, baseNames[d.own(from)]...)
			changed = true
		} else {
			dst = append(dst, name...)
		}
		text = text[end:]
	}
	if !changed {
		return dst[:length], false
	}
	return append(dst, text...), true
}

// whole reports whether text[at:end] is the name of a group, or its end, and not a part of a longer name.
func (d Direction) whole(text []byte, at, end int) bool {
	if end < len(text) {
		if label(text[end]) || text[end] == '.' && end+1 < len(text) && label(text[end+1]) {
			return false
		}
		if text[end] == '/' && d == ToPrivate && !version(text[end+1:]) {
			return false
		}
	}
	if at == 0 || !label(text[at-1]) && text[at-1] != '.' {
		return true
	}
	if text[at-1] != '.' {
		return false
	}
	begin := at - 1
	for begin > 0 && label(text[begin-1]) {
		begin--
	}
	return !excluded(text[begin : at-1])
}

func label(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c >= 'A' && c <= 'Z' || c == '_'
}

func version(text []byte) bool {
	return len(text) > 1 && text[0] == 'v' && text[1] >= '1' && text[1] <= '9'
}
