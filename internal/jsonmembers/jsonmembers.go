// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonmembers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Each calls visit with the name and the JSON of each member of an object, in order. It stops at visit's first error. A value is a slice of raw; a name is
// spelled as its string decodes, and is the caller's for the time of the call. Repeated names are visited again: the last one counts. JSON that is not one
// whole object is an error, though its first members may have been visited by then.
func Each(raw []byte, visit func(name, value []byte) error) error {
	return each(raw, visit, func(d *jsontext.Decoder) error {
		if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("JSON: unexpected text at byte %d, after the object", d.InputOffset())
		}
		return nil
	})
}

// EachChecked is Each for JSON that is part of a document that Each, or another parser, has found whole: what follows the object is not looked at. Of other
// input it makes something, or an error, but never a panic.
func EachChecked(raw []byte, visit func(name, value []byte) error) error {
	return each(raw, visit, func(*jsontext.Decoder) error { return nil })
}

// decoders keep their state from one object to the next. A visitor may decode a member's members, so one is not enough.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(nothing) }}

// nothing is what a decoder has that is not used.
var nothing = bytes.NewBuffer(nil)

func each(raw []byte, visit func(name, value []byte) error, end func(*jsontext.Decoder) error) error {
	d, _ := decoders.Get().(*jsontext.Decoder)
	defer func() {
		d.Reset(nothing) // a body is not kept for the sake of the next one
		decoders.Put(d)
	}()
	// A buffer is read in place, and what encoding/json accepts is accepted.
	d.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return errors.Join(errors.New("JSON: no object"), err)
	}
	for d.PeekKind() == '"' {
		if err := member(d, raw, visit); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	return end(d)
}

func member(d *jsontext.Decoder, raw []byte, visit func(name, value []byte) error) error {
	quoted, err := d.ReadValue()
	if err != nil {
		return err
	}
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		if name, err = jsontext.AppendUnquote(nil, quoted); err != nil {
			return err
		}
	}
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	at := d.InputOffset()
	return visit(name, raw[at-int64(len(value)):at])
}
