// Copyright The Poundlock Authors.
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"errors"
	"fmt"
)

// Limits of what a Scanner holds. None depends on the length of a body.
const (
	// maxToken is how much of one name or value is held. A longer one has no group's name as a whole.
	maxToken = 64 << 10
	// maxHeld is how much of one object is held until it is known whether it is hidden: more than an API server stores.
	maxHeld = 8 << 20
	// maxDepth is encoding/json's.
	maxDepth = 10000
)

// ErrMalformed is wrapped by each error about a body that is not what it should be, truncated bodies included.
var ErrMalformed = errors.New("malformed body")

// ErrTooLarge is wrapped by an error about one object that exceeds what may be held.
var ErrTooLarge = errors.New("the object is too large to be translated")

// A Scanner translates JSON as it passes. It is not for use by several goroutines.
type Scanner struct {
	direction Direction
	automaton *automaton
	frames    bool

	state  state
	top    frame   // the innermost open container
	stack  []frame // those around it, outermost first; the first is none
	next   uint16  // the node of the value that follows
	name   bool    // the text that is being read is a member's name
	first  bool    // the last name was its object's first
	wanted bool    // the text that is being read is held
	escape bool    // and has an escape
	hex    int     // digits of an escape that are missing
	word   string  // what is missing of true, false or null
	token  []byte  // the beginning of held text, from earlier input
	spare  []byte  // for translations
	held   hold
	choice uint16 // where the edge `chosen` leads
	offset int64  // of the input so far
	err    error

	// Of one call of Append:
	dst, src []byte
	from     int // what is before it in src has been written or left out
	text     int // where the held text begins in src

	room struct { // where stack and spare begin: most documents need no more
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

// NewScanner translates one document, which is no list: what a client sends, and the answer about one object.
func NewScanner(direction Direction, doc Document) *Scanner {
	return newScanner(direction, doc, single)
}

// NewListScanner translates one document, which may be a list.
func NewListScanner(direction Direction, doc Document) *Scanner {
	return newScanner(direction, doc, listed)
}

// NewFrameScanner translates the frames of a watch: documents one after the other.
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

// malformed is the error about the byte at src[i].
func (s *Scanner) malformed(i int, what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrMalformed, what, s.offset+int64(i))
}

// Append translates what is known of src and appends it to dst. After an error the Scanner translates nothing any more.
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

// Finish is called at the end of the input, and appends what is left. It returns an error if the document is not complete.
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
