// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Field is a field of a protobuf message in which a group's name is translated. Clients send built-in kinds as protobuf, and the proxy cannot prevent that.
type Field struct {
	In Document
	// At has the numbers of the fields that lead to this one, from the message down.
	At []int
	Is Value
	// Kind is the kind that has the field, if only one kind has it. If two groups have that kind, Kind includes the group: Event.events.k8s.io.
	Kind string
	// Row is the path in Rows that names the same field.
	Row string
}

// Fields has all fields that are translated, except for the apiVersion of the object itself, which is in the envelope.
var Fields = []Field{
	{In: Objects, At: []int{1, 13, 5}, Is: Reference, Row: "metadata.ownerReferences[].apiVersion"},
	{In: Objects, At: []int{1, 17, 3}, Is: APIVersion, Row: "metadata.managedFields[].apiVersion"},
	{In: Objects, At: []int{5, 2}, Is: Group, Kind: "Status", Row: "details.group"},
	{In: Objects, At: []int{3}, Is: Prose, Kind: "Status", Row: "message"},
	{In: Objects, At: []int{5, 4, 2}, Is: Prose, Kind: "Status", Row: "details.causes[].message"},
	{In: Definitions, At: []int{1, 1}, Is: DefinitionName, Row: "metadata.name"},
	{In: Definitions, At: []int{2, 1}, Is: Group, Kind: "CustomResourceDefinition", Row: "spec.group"},
	{In: Definitions, At: []int{5, 1}, Is: DefinitionName, Kind: "Status", Row: "details.name"},
	{In: Events, At: []int{2, 5}, Is: Reference, Kind: "Event", Row: "involvedObject.apiVersion"},
	{In: Events, At: []int{13, 5}, Is: Reference, Kind: "Event", Row: "related.apiVersion"},
	{In: Events, At: []int{8, 5}, Is: Reference, Kind: "Event.events.k8s.io", Row: "regarding.apiVersion"},
	{In: Events, At: []int{9, 5}, Is: Reference, Kind: "Event.events.k8s.io", Row: "related.apiVersion"},
	{In: AccessReviews, At: []int{2, 1, 3}, Is: Group, Kind: "SelfSubjectAccessReview.authorization.k8s.io", Row: "spec.resourceAttributes.group"},
	{In: AccessReviews, At: []int{2, 1, 3}, Is: Group, Kind: "SubjectAccessReview.authorization.k8s.io", Row: "spec.resourceAttributes.group"},
	{In: AccessReviews, At: []int{2, 1, 3}, Is: Group, Kind: "LocalSubjectAccessReview.authorization.k8s.io", Row: "spec.resourceAttributes.group"},
	{In: AccessReviews, At: []int{3, 1, 2}, Is: Group, Kind: "SelfSubjectRulesReview.authorization.k8s.io", Row: "status.resourceRules[].apiGroups[]"},
}

// magic is how each body in protobuf begins.
const magic = "k8s\x00"

// ErrProtobuf is wrapped by each error about a body that is not protobuf as Kubernetes writes it.
var ErrProtobuf = errors.New("malformed protobuf")

// Protobuf returns a body with one object or one list, translated. The object is in the envelope that Kubernetes puts around protobuf.
func (d Direction) Protobuf(doc Document, body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, []byte(magic)) {
		return nil, fmt.Errorf("%w: the body does not begin with k8s and a zero byte", ErrProtobuf)
	}
	e, err := envelopeOf(body[len(magic):])
	if err != nil {
		return nil, err
	}
	fields := e.fields(doc)
	return d.message([]byte(magic), body[len(magic):], func(number int, content []byte) ([]byte, error) {
		switch number {
		case 1:
			return d.walk(nil, content, []place{{[]int{1}, APIVersion}})
		case 2:
			return d.walk(nil, content, fields)
		}
		return content, nil
	})
}

// envelope has the apiVersion and kind of an object, from the envelope around it.
type envelope struct{ apiVersion, kind string }

func envelopeOf(unknown []byte) (e envelope, err error) {
	err = each(unknown, func(number int, content, _ []byte) error {
		switch {
		case number == 3 && len(content) > 0, number == 4 && len(content) > 0 && string(content) != "application/vnd.kubernetes.protobuf":
			return fmt.Errorf("%w: the content type of the object is %q instead of protobuf", ErrProtobuf, content)
		case number == 1:
			return each(content, func(number int, text, _ []byte) error {
				switch number {
				case 1:
					e.apiVersion = string(text)
				case 2:
					e.kind = string(text)
				}
				return nil
			})
		}
		return nil
	})
	return e, err
}

type place struct {
	at []int
	is Value
}

// fields returns the fields to translate in an object of the envelope's kind.
func (e envelope) fields(doc Document) []place {
	if strings.HasSuffix(e.kind, "Options") {
		return nil // Options are the only kind of body without metadata in its first field
	}
	var out []place
	kind, list := strings.CutSuffix(e.kind, "List")
	group, _, grouped := strings.Cut(e.apiVersion, "/")
	for _, f := range Fields {
		want, in, _ := strings.Cut(f.Kind, ".")
		if f.In != Objects && f.In != doc || f.Kind != "" && (want != kind || in != "" && in != group || in == "" && want == "Event" && grouped) {
			continue
		}
		at := f.At
		if list {
			at = append([]int{2}, at...)
		}
		out = append(out, place{at, f.Is})
	}
	return out
}

// walk appends a message to dst, with the given fields translated.
func (d Direction) walk(dst, message []byte, places []place) ([]byte, error) {
	return d.message(dst, message, func(number int, content []byte) ([]byte, error) {
		var deeper []place
		for _, p := range places {
			switch {
			case p.at[0] != number:
			case len(p.at) > 1:
				deeper = append(deeper, place{p.at[1:], p.is})
			default:
				if becomes, changed := d.value(nil, content, p.is); changed {
					content = becomes
				}
			}
		}
		if deeper == nil {
			return content, nil
		}
		return d.walk(nil, content, deeper)
	})
}

// message appends a copy of a message to dst. It replaces the content of each field that has a length by the result of "becomes".
func (d Direction) message(dst, message []byte, becomes func(number int, content []byte) ([]byte, error)) ([]byte, error) {
	err := each(message, func(number int, content, whole []byte) error {
		if content == nil {
			dst = append(dst, whole...)
			return nil
		}
		out, err := becomes(number, content)
		if err != nil {
			return err
		}
		if bytes.Equal(out, content) {
			dst = append(dst, whole...) // copy the field as it is: its length may have more bytes than necessary
			return nil
		}
		dst = binary.AppendUvarint(dst, uint64(number)<<3|2)
		dst = binary.AppendUvarint(dst, uint64(len(out)))
		dst = append(dst, out...)
		return nil
	})
	return dst, err
}

// each calls read for each field of a message. content is the content of a field that has a length, and nil for other fields. whole is the field with its
// number.
func each(message []byte, read func(number int, content, whole []byte) error) error {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
			return fmt.Errorf("%w: a field has no valid number", ErrProtobuf)
		}
		end, from := 0, n
		switch key & 7 {
		case 0:
			_, m := binary.Uvarint(message[n:])
			if m > 0 {
				end = n + m
			}
		case 1:
			end = n + 8
		case 2:
			length, m := binary.Uvarint(message[n:])
			if m > 0 && length <= uint64(len(message)) {
				from = n + m
				end = from + int(length)
			}
		case 5:
			end = n + 4
		}
		if end == 0 || end > len(message) {
			return fmt.Errorf("%w: field %d is truncated, or has an unknown wire type", ErrProtobuf, key>>3)
		}
		var content []byte
		if key&7 == 2 {
			content = message[from:end:end]
		}
		if err := read(int(key>>3), content, message[:end]); err != nil {
			return err
		}
		message = message[end:]
	}
	return nil
}
