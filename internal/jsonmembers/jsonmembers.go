// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonmembers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDepth is encoding/json's.
const maxDepth = 10000

// Each calls visit with the name and the JSON of each member of an object, in order, both slices of raw; it stops at
// visit's first error. A name is spelled as its string decodes. Repeated names are visited again: the last one counts.
// JSON that is not one whole object is an error, though its first members may have been visited by then.
func Each(raw []byte, visit func(name, value []byte) error) error {
	s := scanner{raw: raw}
	s.space()
	if err := s.object(1, visit); err != nil {
		return err
	}
	s.space()
	if s.at < len(s.raw) {
		return s.unexpected("after the object")
	}
	return nil
}

// EachChecked is Each for JSON that is part of a document that Each, or another parser, has found whole: what is not
// visited is skipped and not checked again. Of other input it makes something, or an error, but never a panic.
func EachChecked(raw []byte, visit func(name, value []byte) error) error {
	s := scanner{raw: raw, checked: true}
	s.space()
	return s.object(1, visit)
}

type scanner struct {
	raw     []byte
	at      int
	checked bool
}

// object walks through a JSON object and shows visit, if there is one, its members.
func (s *scanner) object(depth int, visit func(name, value []byte) error) error {
	if !s.take('{') {
		return s.unexpected("looking for an object")
	}
	if s.space(); s.take('}') {
		return nil
	}
	for {
		if err := s.member(depth, visit); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.unexpected("after an object's member")
		}
		s.space()
	}
}

// member walks through one member and the space behind it.
func (s *scanner) member(depth int, visit func(name, value []byte) error) error {
	begin := s.at
	if err := s.text(); err != nil {
		return err
	}
	name := s.raw[begin:s.at]
	if s.space(); !s.take(':') {
		return s.unexpected("after a member's name")
	}
	s.space()
	begin = s.at
	if err := s.value(depth); err != nil {
		return err
	}
	value := s.raw[begin:s.at]
	s.space()
	if visit == nil {
		return nil
	}
	plain, err := unquote(name)
	if err != nil {
		return err
	}
	return visit(plain, value)
}

// unquote decodes a string; one without escapes stays where it is.
func unquote(quoted []byte) ([]byte, error) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner, nil
	}
	var text string
	err := json.Unmarshal(quoted, &text)
	return []byte(text), err
}

func (s *scanner) value(depth int) error {
	if depth > maxDepth {
		return errors.New("JSON: nested too deeply")
	}
	if s.at >= len(s.raw) {
		return s.unexpected("looking for a value")
	}
	if s.checked {
		s.skip()
		return nil
	}
	switch c := s.raw[s.at]; c {
	case '{':
		return s.object(depth+1, nil)
	case '[':
		return s.list(depth + 1)
	case '"':
		return s.text()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

// skip passes over one valid value: to the end of what it opens, or to what ends a word or a
// number.
func (s *scanner) skip() {
	depth := 0
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case '"':
			s.skipText()
			if depth == 0 {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				s.at += depth + 1 // the end of an outer value is not this one's
				return
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return
			}
		}
		s.at++
	}
}

// skipText passes over a string: to the next quote that an even number of backslashes precedes.
func (s *scanner) skipText() {
	for s.at++; ; s.at++ {
		next := bytes.IndexByte(s.raw[s.at:], '"')
		if next < 0 {
			s.at = len(s.raw)
			return
		}
		begin := s.at
		s.at += next
		slashes := 0
		for i := s.at - 1; i >= begin && s.raw[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			s.at++
			return
		}
	}
}

func (s *scanner) list(depth int) error {
	s.at++
	if s.space(); s.take(']') {
		return nil
	}
	for {
		if err := s.value(depth); err != nil {
			return err
		}
		if s.space(); s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.unexpected("after a list's element")
		}
		s.space()
	}
}

func (s *scanner) text() error {
	if !s.take('"') {
		return s.unexpected("looking for a string")
	}
	for raw, at := s.raw, s.at; at < len(raw); at++ { // most bytes of a document are in strings: no field is written for each
		c := raw[at]
		if c != '"' && c >= ' ' && c != '\\' {
			continue
		}
		s.at = at
		switch {
		case c == '"':
			s.at++
			return nil
		case c < ' ':
			return s.unexpected("in a string")
		}
		if err := s.escape(); err != nil {
			return err
		}
		at = s.at
	}
	s.at = len(s.raw)
	return s.unexpected("in a string")
}

// escape leaves the scanner on the last byte of the escape.
func (s *scanner) escape() error {
	s.at++
	if s.at >= len(s.raw) {
		return s.unexpected("in an escape")
	}
	switch s.raw[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		return s.hex()
	}
	return s.unexpected("in an escape")
}

func (s *scanner) hex() error {
	for range 4 {
		s.at++
		if s.at >= len(s.raw) || !isHex(s.raw[s.at]) {
			return s.unexpected("in an escape")
		}
	}
	return nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (s *scanner) literal(word string) error {
	for i := range len(word) {
		if !s.take(word[i]) {
			return s.unexpected("in " + word)
		}
	}
	return nil
}

func (s *scanner) number() error {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return s.unexpected("looking for a value")
	}
	if s.take('.') && !s.digits() {
		return s.unexpected("in a number")
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if !s.digits() {
			return s.unexpected("in a number")
		}
	}
	return nil
}

// digits takes what digits there are and reports whether there was one.
func (s *scanner) digits() bool {
	begin := s.at
	for s.at < len(s.raw) && '0' <= s.raw[s.at] && s.raw[s.at] <= '9' {
		s.at++
	}
	return s.at > begin
}

func (s *scanner) space() {
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.raw) && s.raw[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) unexpected(where string) error {
	if s.at >= len(s.raw) {
		return fmt.Errorf("JSON: ends %s", where)
	}
	return fmt.Errorf("JSON: unexpected %q at byte %d, %s", s.raw[s.at], s.at, where)
}
