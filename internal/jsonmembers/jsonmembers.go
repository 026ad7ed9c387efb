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

// Each calls visit with the name and the JSON of each member of an object, in order. It stops at visit's first error. The value is a slice of raw. The name is
// unescaped, and valid only during the call. If a name is repeated, each member is visited, and the caller should take the last one. If raw is not exactly one
// object, Each returns an error, but may have visited members before.
func Each(raw []byte, visit func(name, value []byte) error) error {
	return each(raw, visit, func(d *jsontext.Decoder) error {
		if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("invalid JSON: unexpected text after the object, at byte %d", d.InputOffset())
		}
		return nil
	})
}

// EachChecked does what Each does, for JSON from a document that Each, or another parser, has found valid. It ignores what follows the object. For other input,
// EachChecked may succeed or fail, but never panics.
func EachChecked(raw []byte, visit func(name, value []byte) error) error {
	return each(raw, visit, func(*jsontext.Decoder) error { return nil })
}

// decoders are reused from one object to the next. There may be several in use at a time, because a visitor may decode a member's members.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(nothing) }}

// nothing is the input of a decoder that is not in use.
var nothing = bytes.NewBuffer(nil)

func each(raw []byte, visit func(name, value []byte) error, end func(*jsontext.Decoder) error) error {
	d, _ := decoders.Get().(*jsontext.Decoder)
	defer func() {
		d.Reset(nothing) // do not keep the body in memory until the next one
		decoders.Put(d)
	}()
	// The decoder reads a bytes.Buffer in place, without a copy. With these options, it accepts all that encoding/json accepts.
	d.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return errors.Join(errors.New("invalid JSON: not an object"), err)
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
