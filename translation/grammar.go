// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"encoding/binary"
	"math/bits"
)

type state uint8

// The states of the Scanner: what may follow. In the states before inText, white space may follow, too.
const (
	atValue   state = iota // a value must follow
	atElement              // a value or the end of a list
	atName                 // a member's name must follow
	atMember               // a name or the end of an object
	atColon
	afterValue
	atFrame // between frames, or before the first
	atEnd   // after the only document
	inText
	inEscape
	inHex
	inWord
	afterMinus
	afterZero
	inInteger
	afterPoint
	inFraction
	afterE
	afterSign
	inExponent
)

// value reads the first byte at which a value may begin, or the end of a list.
func (s *Scanner) value(i int, st state) (int, state, error) {
	c := s.src[i]
	if st == atElement {
		if c == ']' {
			st, err := s.closed(i)
			return i + 1, st, err
		}
		if s.top&isHide != 0 {
			if err := s.hold(i); err != nil {
				return i, st, err
			}
		}
	}
	if c == '"' && s.automaton.nodes[s.next].value == Nothing {
		if end := whole(s.src, i+1); end > 0 {
			st, err := s.after(end)
			return end, st, err
		}
	}
	st, err := s.begin(i, c)
	i++
	if err == nil && s.top>>shift == dead && (st == atMember || st == atElement) {
		return s.skim(i, st)
	}
	return i, st, err
}

// member reads a member's name, or the end of an object. If the value is a text, number or word that no row names, member reads the value too, and goes on to
// the next name.
func (s *Scanner) member(i int, st state) (int, state, error) {
	c := s.src[i]
	if c == '}' && st == atMember {
		st, err := s.closed(i)
		return i + 1, st, err
	}
	if c != '"' {
		return i, st, s.malformed(i, "no member's name")
	}
	s.first = st == atMember
	if s.top&isHide != 0 {
		if st == atMember {
			if err := s.hold(i); err != nil {
				return i, st, err
			}
		}
		i, st = s.called(i + 1)
		return i, st, nil
	}
	for src := s.src; ; s.first = false {
		i, st = s.called(i + 1)
		if st != atValue || s.automaton.nodes[s.next].value != Nothing || i == len(src) {
			return i, st, nil
		}
		end := scalar(src, i)
		switch {
		case end == 0:
			return i, atValue, nil
		case end+1 < len(src) && src[end] == ',' && src[end+1] == '"':
			i = end + 1
		default:
			return end, afterValue, nil
		}
	}
}

// between reads what follows a value inside of a container: a comma, or the end of the container.
func (s *Scanner) between(i int) (int, state, error) {
	list := s.top&isList != 0
	switch c := s.src[i]; {
	case c == ',':
		if s.top&isHide != 0 {
			if err := s.hold(i); err != nil {
				return i, afterValue, err
			}
		}
		if !list {
			return i + 1, atName, nil
		}
		s.next = s.automaton.nodes[s.top>>shift].element
		return i + 1, atValue, nil
	case c == '}' && !list, c == ']' && list:
		st, err := s.closed(i)
		return i + 1, st, err
	}
	return i, afterValue, s.malformed(i, "after a value, a comma or the end of the object or list is missing")
}

// frame begins a watch frame, and holds it if it may have to be left out.
func (s *Scanner) frame(i int) (int, state, error) {
	s.held.space = false
	s.next = s.automaton.start
	if s.automaton.hideFrames && s.direction == ToStandard {
		if err := s.hold(i); err != nil {
			return i, atFrame, err
		}
	}
	return s.value(i, atValue)
}

// inText reads to the end of a text, or to the next escape.
func (s *Scanner) inText(i int) (int, state, error) {
	i = plain(s.src, i)
	if i == len(s.src) {
		return i, inText, nil
	}
	var st state
	var err error
	switch c := s.src[i]; {
	case c == '\\':
		st, s.escape = inEscape, true
	case c != '"':
		err = s.malformed(i, "a control character in text")
	case s.wanted:
		st, err = s.ended(i)
	case s.name:
		st = atColon
	default:
		st, err = s.after(i + 1)
	}
	return i + 1, st, err
}

// inEscape reads one byte of an escape, after the backslash.
func (s *Scanner) inEscape(i int, st state) (int, state, error) {
	c := s.src[i]
	switch {
	case st == inEscape && c == 'u':
		st, s.hex = inHex, 4
	case st == inEscape && simple[c]:
		st = inText
	case st == inHex && hexadecimal(c):
		if s.hex--; s.hex == 0 {
			st = inText
		}
	default:
		return i, st, s.malformed(i, "an unknown escape")
	}
	return i + 1, st, nil
}

// inWord reads one byte of true, false or null.
func (s *Scanner) inWord(i int) (int, state, error) {
	if s.src[i] != s.word[0] {
		return i, inWord, s.malformed(i, "an unknown word")
	}
	if s.word = s.word[1:]; s.word != "" {
		return i + 1, inWord, nil
	}
	st, err := s.after(i + 1)
	return i + 1, st, err
}

// number returns the state after the byte c, and true if c belongs to the number. If c does not belong to it, the state is afterValue for a complete number,
// and any other state for an incomplete one, which is an error.
func number(st state, c byte) (state, bool) {
	digit := c >= '0' && c <= '9'
	switch st {
	case afterMinus:
		if c == '0' {
			return afterZero, true
		}
		return inInteger, digit
	case inInteger, afterZero:
		switch {
		case digit && st == inInteger:
			return inInteger, true
		case c == '.':
			return afterPoint, true
		case c == 'e' || c == 'E':
			return afterE, true
		}
	case afterPoint:
		return inFraction, digit
	case inFraction:
		switch {
		case digit:
			return inFraction, true
		case c == 'e' || c == 'E':
			return afterE, true
		}
	case afterE:
		if c == '+' || c == '-' {
			return afterSign, true
		}
		return inExponent, digit
	case afterSign:
		return inExponent, digit
	case inExponent:
		if digit {
			return inExponent, true
		}
	}
	return afterValue, false
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func hexadecimal(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// simple has the bytes that form an escape together with one backslash.
var simple = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// plain returns the index of the next byte in text that needs attention (a quote, a backslash, a control character), or the length of src. It checks eight
// bytes at a time, with two conditions. Each condition sets the highest bit of the first byte that meets it. The first condition flips the bit in which a quote
// differs from a blank. After that, the quote and the control characters are exactly the bytes that are not above a blank.
func plain(src []byte, i int) int {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(src); i += 8 {
		w := binary.LittleEndian.Uint64(src[i:])
		quote, backslash := w^ones*('"'^' '), w^ones*'\\'
		if found := ((quote-ones*(' '+1))&^quote | (backslash-ones)&^backslash) & highest; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(src) && src[i] != '"' && src[i] != '\\' && src[i] >= ' ' {
		i++
	}
	return i
}

// scan reads all of src. It stops with an error at the first byte that is not JSON.
func (s *Scanner) scan() (err error) {
	st := s.state
	for i := 0; i < len(s.src) && err == nil; {
		c := s.src[i]
		if st < inText && c <= ' ' && blank(c) {
			i++
			if st == atFrame && s.held.space {
				s.from = i
			}
			continue
		}
		switch st {
		case atName, atMember:
			i, st, err = s.member(i, st)
		case atValue, atElement:
			i, st, err = s.value(i, st)
		case atColon:
			if c != ':' {
				return s.malformed(i, "the colon after a member's name is missing")
			}
			i, st = i+1, atValue
		case afterValue:
			i, st, err = s.between(i)
		case atFrame:
			i, st, err = s.frame(i)
		case atEnd:
			return s.malformed(i, "something after the document")
		case inText:
			i, st, err = s.inText(i)
		case inEscape, inHex:
			i, st, err = s.inEscape(i, st)
		case inWord:
			i, st, err = s.inWord(i)
		default:
			var more bool
			if st, more = number(st, c); more {
				i++
			} else if st != afterValue {
				return s.malformed(i, "an unfinished number")
			} else {
				st, err = s.after(i)
			}
		}
	}
	s.state = st
	return err
}
