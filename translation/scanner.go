// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"errors"
	"fmt"
)

// Limits of the memory of a Scanner. None depends on the length of a body.
const (
	// maxToken is how many bytes of one name or value are held. A longer text is no group's name.
	maxToken = 64 << 10
	// maxHeld is how many bytes of one object are held until it is known whether the object is hidden. It is more than an API server stores.
	maxHeld = 8 << 20
	// maxDepth is the greatest depth of nesting, which is that of encoding/json.
	maxDepth = 10000
)

// ErrMalformed is wrapped by each error about a body that is not valid, or is truncated.
var ErrMalformed = errors.New("malformed body")

// ErrTooLarge is wrapped by an error about an object that is larger than maxHeld.
var ErrTooLarge = errors.New("the object is too large for a translation")

// A Scanner translates JSON while it passes. Only one goroutine at a time may use it.
type Scanner struct {
	direction Direction
	automaton *automaton
	frames    bool

	state  state
	top    frame   // the innermost open container
	stack  []frame // the containers around top, outermost first; the first is none
	next   uint16  // the node of the value that follows
	name   bool    // the text that is being read is a member's name
	first  bool    // the last name was the first of its object
	wanted bool    // the text that is being read is held
	escape bool    // the held text has an escape
	hex    int     // how many digits of an escape are missing
	word   string  // the rest of true, false or null that must follow
	token  []byte  // the beginning of the held text, from earlier input
	spare  []byte  // memory for translations
	held   hold
	choice uint16 // the node to which the edge `chosen` leads
	offset int64  // how many bytes were read before src
	err    error

	// These belong to one call of Append:
	dst, src []byte
	from     int // src[:from] has been written or left out
	text     int // src[text:] is where the held text begins

	room struct { // the first memory of stack and spare: most documents need no more
		stack [16]frame
		spare [128]byte
	}
}

func newScanner(direction Direction, doc Document, arranged shape) *Scanner {
	s := &Scanner{direction: direction, automaton: doc.automaton(arranged), frames: arranged == framed}
	s.stack, s.spare = s.room.stack[:0], s.room.spare[:0]
	s.Reset()
	return s
}

// NewScanner returns a Scanner for one document that is no list: a request, or the answer about one object.
func NewScanner(direction Direction, doc Document) *Scanner {
	return newScanner(direction, doc, single)
}

// NewListScanner returns a Scanner for one document that may be a list.
func NewListScanner(direction Direction, doc Document) *Scanner {
	return newScanner(direction, doc, listed)
}

// NewFrameScanner returns a Scanner for the frames of a watch, which are documents one after the other.
func NewFrameScanner(direction Direction, doc Document) *Scanner {
	return newScanner(direction, doc, framed)
}

// Reset makes the Scanner ready for another body of the same kind.
func (s *Scanner) Reset() {
	s.top, s.stack = outside, s.stack[:0]
	s.state, s.next = atValue, s.automaton.start
	if s.frames {
		s.state = atFrame
	}
	s.name, s.wanted, s.token = false, false, s.token[:0]
	s.held = hold{bytes: s.held.bytes[:0]}
	s.offset, s.err = 0, nil
}

// malformed returns an error about the byte at src[i].
func (s *Scanner) malformed(i int, what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrMalformed, what, s.offset+int64(i))
}

// Append reads src, and appends to dst as much of the translation as is known. After an error, the Scanner translates nothing any more.
func (s *Scanner) Append(dst, src []byte) ([]byte, error) {
	if s.err != nil {
		return dst, s.err
	}
	s.dst, s.src, s.from, s.text = dst, src, 0, 0
	if s.err = s.scan(); s.err == nil {
		s.err = s.suspend()
	}
	s.offset += int64(len(src))
	dst, s.dst, s.src = s.dst, nil, nil
	return dst, s.err
}

// Finish ends the input, and appends the rest of the translation to dst. It returns an error if the document is not complete.
func (s *Scanner) Finish(dst []byte) ([]byte, error) {
	if s.err != nil {
		return dst, s.err
	}
	switch s.state {
	case afterZero, inInteger, inFraction, inExponent:
		if len(s.stack) == 0 {
			return dst, nil
		}
	case atFrame:
		return dst, nil
	case atEnd:
		return dst, nil
	}
	s.err = fmt.Errorf("%w: the body is incomplete and ends after %d bytes", ErrMalformed, s.offset)
	return dst, s.err
}
